"""The models that are served in tests: the shipped one, SmolLM2 with its draft, and one whose template has tools."""
import sys

import server as servers

sys.path.insert(0, str(servers.ROOT / "tests" / "fuzz" / "altered"))
from alter_gguf import Gguf  # noqa: E402

SHIPPED = servers.ROOT / "models" / "foretoken-demo-24m-q8_0.gguf"
SMOLLM2 = servers.ROOT / "build" / "models" / "smollm2-135m-instruct-q4_1.gguf"
SMOLLM2_DRAFT = servers.ROOT / "models" / "drafts" / "smollm2-135m-instruct-hass-q8_0.gguf"
TEMPLATE = servers.ROOT / "tests" / "parity" / "jinja" / "templates" / "qwen2.5.jinja"


def smollm2():
    """SmolLM2 as its users keep it, with the draft in drafts/ beside it; None where it was not fetched."""
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

    It does not know what tools are. What is tested with it is the server's part: that calls which must be made are made,
    parse and meet their schema, and how they are told.
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
    """Options by which requests may name other drafters than the default, those with drafts beside the model too."""
    names = ["pld", "lookahead"]
    if any((path.parent / "drafts").glob("*hass*")):
        names.append("hass")
    return [part for name in names for part in ("--also-drafter", name)]
