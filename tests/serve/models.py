"""The models that tests serve: the shipped one, SmolLM2 with its draft, and one whose template has tools."""
import sys

import server as servers

sys.path.insert(0, str(servers.ROOT / "tests" / "fuzz" / "altered"))
from alter_gguf import Gguf  # noqa: E402

SHIPPED = servers.ROOT / "models" / "foretoken-demo-24m-q8_0.gguf"
SMOLLM2 = servers.ROOT / "build" / "models" / "smollm2-135m-instruct-q4_1.gguf"
SMOLLM2_DRAFT = servers.ROOT / "models" / "drafts" / "smollm2-135m-instruct-hass-q8_0.gguf"
TEMPLATE = servers.ROOT / "tests" / "parity" / "jinja" / "templates" / "qwen2.5.jinja"


def smollm2():
    """SmolLM2 in the usual layout, with the draft in drafts/ beside it; None if it was not fetched."""
    if not SMOLLM2.is_file():
        return None
    folder = servers.SCRATCH / "models"
    (folder / "drafts").mkdir(parents=True, exist_ok=True)
    for link, file in ((folder / "smollm2-135m-instruct.gguf", SMOLLM2), (folder / "drafts" / "hass.gguf",
                                                                          SMOLLM2_DRAFT)):
        link.unlink(missing_ok=True)
        link.symlink_to(file)
    return folder / "smollm2-135m-instruct.gguf"


def with_tools():
    """The shipped model with the template of Qwen2.5.

    The model was not trained for tools. It tests the server's part: required calls are made, parse, match their schema
    and are reported as the API says.
    """
    path = servers.SCRATCH / "tools.gguf"
    path.parent.mkdir(parents=True, exist_ok=True)
    gguf = Gguf(SHIPPED.read_bytes())
    for pair in gguf.pairs:
        if pair[0] == b"tokenizer.chat_template":
            pair[2] = TEMPLATE.read_bytes()
    path.write_bytes(bytes(gguf.write().out))
    return path


def drafters_beside(path):
    """Options that let requests choose other drafters than the default, HASS too if its draft is beside the model."""
    names = ["pld", "lookahead"]
    if any((path.parent / "drafts").glob("*hass*")):
        names.append("hass")
    return [part for name in names for part in ("--also-drafter", name)]
