#!/usr/bin/python3
"""Renders chat templates with Debian's python3-jinja2 into goldens.json, and the templates of
expressions.txt, one a line, into expressions.json.

The environment is set up as transformers sets it up for tokenizer.chat_template: an immutable
sandbox with trim_blocks, lstrip_blocks and loop controls, the filter tojson, and the functions
raise_exception and strftime_now. Run it again after a change of templates/ or conversations.json:

    tests/parity/jinja/make_goldens.py

With --templates and --out it renders other templates, such as the ones of models on disk; the test
chat_template_parity_test compares them when FT_JINJA_GOLDENS names the file.
"""

import argparse
import json
import pathlib

import jinja2
import jinja2.ext
import jinja2.sandbox

HERE = pathlib.Path(__file__).resolve().parent


class Generation(jinja2.ext.Extension):
    """{% generation %} marks the assistant's text; it renders as its body."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return jinja2.nodes.Scope(body).set_lineno(line)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                      sort_keys=sort_keys)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True,
        extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    return env


def render(template, conversation, add_generation_prompt, bos, eos):
    try:
        return {"text": template.render(
            messages=conversation["messages"], tools=conversation.get("tools"), documents=None,
            add_generation_prompt=add_generation_prompt, bos_token=bos, eos_token=eos,
            **conversation.get("variables", {}))}
    except jinja2.exceptions.UndefinedError:
        # The two implementations word this error differently; only its presence is compared.
        return {"error": ""}
    except jinja2.exceptions.TemplateError as error:
        return {"error": str(error)}
    except TypeError:
        return {"error": ""}


def render_expressions(env, sources):
    """[template, its text without variables] for each; the text is null where Jinja raises an error."""
    rendered = []
    for source in sources:
        try:
            text = env.from_string(source).render()
        except Exception:  # Python's own exceptions, too: messages are not compared
            text = None
        rendered.append([source, text])
    return rendered


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--templates", type=pathlib.Path, default=HERE / "templates")
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "goldens.json")
    args = parser.parse_args()

    conversations = json.loads((HERE / "conversations.json").read_text())
    env = environment()
    files = []
    for path in sorted(args.templates.glob("*.jinja")):
        source = path.read_text()
        template = env.from_string(source)
        bos, eos = ("<|begin_of_text|>", "<|eot_id|>") if "llama-3" in path.name else ("<s>", "</s>")
        renderings = [
            {"conversation": name, "add_generation_prompt": prompt,
             **render(template, conversation, prompt, bos, eos)}
            for name, conversation in conversations.items() for prompt in (False, True)]
        files.append({"name": path.name, "source": source, "bos_token": bos, "eos_token": eos,
                      "renderings": renderings})
    goldens = {"jinja2": jinja2.__version__, "conversations": conversations, "templates": files}
    args.out.write_text(json.dumps(goldens, ensure_ascii=False, indent=1) + "\n")
    if args.templates == HERE / "templates":
        lines = (HERE / "expressions.txt").read_text().splitlines()
        pairs = (json.dumps(pair, ensure_ascii=False) for pair in render_expressions(env, lines))
        (HERE / "expressions.json").write_text("[\n" + ",\n".join(pairs) + "\n]\n")


if __name__ == "__main__":
    main()
