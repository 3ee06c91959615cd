#!/usr/bin/python3
"""Tests the server's web page in Debian's Chromium: chats, stops, attribution, races, themes, phones, keyboard, errors.

usage: tests/serve/page.py [--model FILE] [--binary FILE] [--images FOLDER] [--only PATTERN]
"""
import argparse
import json
import sys

from selenium.webdriver.common.keys import Keys

import models
import server as servers
from browser import ANSWER_SECONDS, PHONE, Browser
from results import Results, Suite, same, that

SUITE = Suite()
check = SUITE.check

CODE = "Write a Python class for a stack, with a docstring."
MORE = "Write the class again, with a method that tells its size."
QUOTE = ("Repeat this text word for word: \"She sells sea shells by the sea shore. The shells she sells are surely sea "
         "shells. So if she sells shells on the sea shore, I am sure she sells sea shore shells.\"")
STORY = "Write a long story about a fox who learns to swim."
GREEDY = {"temperature": 0, "max_tokens": 96}


class Context:
    def __init__(self, server, browser, binary, model):
        self.server, self.browser, self.binary, self.model = server, browser, binary, model

    def open(self, **how):
        self.browser.open(self.server.url + "/", **how)
        return self.browser


@check("page: a conversation of two turns says what the API says")
def conversation(c):
    b = c.open()
    that(b.shown("#welcome"), "an empty conversation shows no welcome")
    sampling = {"temperature": 0, "max_tokens": 160}
    b.settings(**sampling)
    first = b.ask(CODE)
    second = b.ask(MORE)
    messages = [{"role": "user", "content": CODE}, {"role": "assistant", "content": first},
                {"role": "user", "content": MORE}]
    for count, text in ((1, first), (3, second)):
        body = {"messages": messages[:count], **sampling}
        answer = c.server.post("/v1/chat/completions", body).good()["choices"][0]["message"]["content"]
        same(text, answer, f"the answer to {count} messages")
    that(not b.shown("#welcome"), "the welcome is still there")
    stats = b.texts(".answer .stats")
    that(all("tokens/s" in line and "accepted" in line for line in stats), f"figures: {stats}")
    b.check_quiet()
    b.picture("chat")


@check("page: cycles are coloured, and copying gives the text alone")
def cycles(c):
    b = c.open()
    b.settings(**GREEDY)
    text = b.ask(QUOTE)
    shades = b.js("""return [...document.querySelectorAll(".answer .run")].map(
        (run) => [run.textContent, getComputedStyle(run).backgroundColor, run.classList.contains("hit")])""")
    same("".join(part for part, _, _ in shades), text, "the runs together")
    hits = [colour for _, colour, hit in shades if hit]
    that(len(hits) > 1 and len(set(hits)) == 2, f"the colours of accepted runs: {set(hits)}")
    that(all(a[1] != b[1] for a, b in zip(shades, shades[1:]) if a[2] and b[2]), "neighbours share a colour")
    same(b.copied(".answer .text"), text, "what is copied of an answer")
    same(b.copied("#turns"), QUOTE + "\n\n" + text, "what is copied of a conversation")
    b.click("#colour")
    plain = set(b.js("return [...document.querySelectorAll('.answer .run')].map("
                     "(run) => getComputedStyle(run).backgroundColor)"))
    same(plain, {"rgba(0, 0, 0, 0)"}, "colours while they are turned off")
    b.check_quiet()


@check("page: a stop keeps what was written, and the conversation goes on")
def stop(c):
    b = c.open()
    b.settings(temperature=0, max_tokens=2000)
    b.begin(STORY)
    b.wait(lambda: len(b.text(".answer .text")) > 60, "no text comes", ANSWER_SECONDS)
    same(b.text("#send"), "Stop", "the button while it writes")
    b.click("#send")
    b.wait_written()
    text = b.text(".answer .text")
    that(len(text) > 60, f"after the stop there is {text!r}")
    same(b.text(".answer .notice"), "Stopped.", "the notice")
    c.server.wait_idle(10)
    b.settings(max_tokens=24)
    that(b.ask("Go on."), "there is no answer after a stop")
    # Ask for another answer to the last message, then replace the message.
    b.click(".turn:last-child .answer .last-only")
    b.wait_written()
    that(b.texts(".answer .text")[-1], "there is no other answer")
    b.find("#question").send_keys(Keys.ARROW_UP)
    box = b.find(".question textarea")
    same(box.get_attribute("value"), "Go on.", "the message to be edited")
    box.clear()
    box.send_keys("Say hello.", Keys.ENTER)
    b.wait_written()
    same(b.texts(".question .text"), [STORY, "Say hello."], "the messages")
    b.click("#new-chat")
    that(b.shown("#welcome") and not b.all(".turn"), "a new chat is not empty")
    b.check_quiet()


def show_copy(b, source):
    """Asks a question whose answer copies and opens the panel of a copied run; returns the run."""
    b.settings(**GREEDY)
    b.ask(QUOTE)
    copied = [run for run in b.all(".answer .copied") if len(run.text) > 8]
    that(copied, f"nothing of the answer is marked as copied: {b.text('.answer .text')!r}")
    b.hover(copied[0])
    b.wait(lambda: b.shown("#card"), "no panel comes up")
    that(b.text("#card .title").startswith("Cycle "), f"the panel's title: {b.text('#card .title')}")
    that("accepted" in b.text("#card .figures"), f"the panel's figures: {b.text('#card .figures')}")
    origins = b.texts("#card .origin")
    that(source in origins[0], f"the panel tells the source {origins}")
    return copied[0]


@check("page: attribution: the panel shows the passage that was copied")
def attribution(c):
    b = c.open(dark=True)
    run = show_copy(b, "the prompt")
    marked = b.text("#card mark")
    that(marked.strip() and marked.strip() in QUOTE, f"the marked passage {marked!r} is not in the prompt")
    that(run.text.strip() in marked, f"{run.text!r} is said to be copied from {marked!r}")
    b.check_layout("the panel")
    b.check_contrast("the panel, dark")
    b.picture("attribution")
    b.keys(Keys.ESCAPE)
    that(not b.shown("#card"), "Escape does not close the panel")
    run.click()
    that(b.shown("#card"), "a click does not open the panel")
    b.hover(b.find("header h1"))
    that(b.shown("#card"), "a panel that was clicked open goes when the pointer leaves")
    b.click("header h1")
    that(not b.shown("#card"), "a click elsewhere does not close the panel")
    b.check_quiet()


@check("page: attribution: what was copied from the expected text")
def expected_text(c):
    b = c.open()
    b.settings(**GREEDY)
    text = b.ask(CODE)
    b.click("#new-chat")
    b.settings(prediction=text)
    same(b.ask(CODE), text, "the answer with an expected text")
    b.hover(max(b.all(".answer .copied"), key=lambda run: len(run.text)))
    b.wait(lambda: b.shown("#card"), "no panel comes up")
    that("Copied from the expected text" in b.texts("#card .origin"), f"the sources: {b.texts('#card .origin')}")
    that(b.text("#card mark") in text, f"the marked passage {b.text('#card mark')!r}")
    that(text not in json.dumps(b.js("return {...localStorage}")), "the expected text is kept")
    b.check_quiet()


@check("page: the race shows equal texts, one after the other and at once")
def race(c):
    b = c.open()
    b.settings(temperature=0.7, max_tokens=160, seed=7)
    b.click("#tab-race")
    for together in (False, True):
        if together:
            b.click("#together")
        b.click("#race-go")
        b.wait_written()
        verdict = b.text("#verdict")
        that("Equal texts" in verdict and "times as fast" in verdict, f"the verdict is {verdict!r}")
        lanes = [b.text("#lane-plain"), b.text("#lane-drafted")]
        that(lanes[0] and lanes[0] == lanes[1], f"the lanes say {lanes}")
        that(not b.all("#lane-plain .hit"), "plain decoding has accepted guesses")
        that("accepted" in b.text("#stats-drafted"), f"figures of the lane: {b.text('#stats-drafted')}")
        if not together:
            said = verdict
            b.check_layout("the race")
            b.check_contrast("the race")
            b.picture("race")
    b.click("#race-go")
    b.wait(lambda: b.text("#lane-plain"), "the race does not begin", ANSWER_SECONDS)
    b.keys(Keys.ESCAPE)
    b.wait_written()
    that(b.text("#verdict").startswith("Stopped."), f"after a stop the verdict is {b.text('#verdict')!r}")
    b.check_quiet()
    return said


@check("page: both themes can be read, and the choice stays")
def themes(c):
    for dark in (False, True):
        b = c.open(dark=dark)
        same(b.js("return document.documentElement.dataset.theme"), "dark" if dark else "light", "the system's theme")
        b.check_contrast("empty, " + ("dark" if dark else "light"))
        b.settings(temperature=0, max_tokens=40)
        b.ask(CODE)
        b.js("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        b.check_contrast("an answer, " + ("dark" if dark else "light"))
        b.check_layout("an answer")
        b.click("#theme")
        same(b.js("return document.documentElement.dataset.theme"), "light" if dark else "dark", "the other theme")
        b.check_contrast("after the change")
        b.open(c.server.url + "/", dark=dark, keeps_settings=True)
        same(b.js("return document.documentElement.dataset.theme"), "light" if dark else "dark", "the theme that stays")
        same(b.find("#max_tokens").get_attribute("value"), "40", "a setting that stays")
        that(b.shown("#welcome"), "a conversation is kept")
        b.check_quiet()


@check("page: a phone of 360 by 740")
def phone(c):
    b = c.open(size=PHONE, touch=True, calm=True)
    b.check_layout("empty")
    b.click("#open-settings")
    same(b.focused(), "close-settings", "the focus in the settings")
    b.check_layout("the settings")
    b.check_contrast("the settings")
    b.settings(**GREEDY)
    b.keys(Keys.ESCAPE)
    that(not b.shown("#settings"), "Escape does not close the settings")
    b.fill("#question", QUOTE)
    b.click("#send")
    b.wait_written()
    b.check_layout("an answer")
    same(b.js("return getComputedStyle(document.querySelector('#question')).fontSize"), "16px", "the size of what is typed")
    run = next(run for run in b.all(".answer .copied") if len(run.text) > 8)
    b.tap(run)
    that(b.shown("#card"), "a tap does not open the panel")
    card = b.js("const box = document.querySelector('#card').getBoundingClientRect();"
                "return [box.left, box.top, innerWidth - box.right, innerHeight - box.bottom]")
    that(min(card) >= 0, f"the panel's distances from the edges: {card}")
    b.check_layout("the panel")
    b.picture("phone")
    small = b.js("""return [...document.querySelectorAll("button")].filter((one) => one.checkVisibility())
        .map((one) => [one.textContent.trim(), one.getBoundingClientRect()])
        .filter(([, box]) => box.width < 24 || box.height < 24).map(([name]) => name)""")
    that(not small, f"hard to hit: {small}")
    moving = b.js("return document.getAnimations().length")
    same(moving, 0, "animations, which were asked to rest")
    b.click("#tab-race")
    b.check_layout("the race")
    b.check_quiet()


@check("page: by keyboard alone")
def keyboard(c):
    b = c.open()
    b.settings(**GREEDY)
    b.js("document.activeElement.blur()")
    b.open(c.server.url + "/", keeps_settings=True)
    same(b.focused(), "question", "the focus of a new page")
    b.keys("Say hello")
    b.chord(Keys.SHIFT, Keys.ENTER)
    that("\n" in b.find("#question").get_attribute("value"), "Shift and Enter begin no line")
    b.chord(Keys.CONTROL, "a")
    b.keys(QUOTE, Keys.ENTER)
    b.wait(lambda: b.all(".turn"), "Enter does not send")
    b.wait_written()
    same(b.focused(), "question", "the focus after an answer")
    for _ in range(12):  # back to the text of the answer
        b.chord(Keys.SHIFT, Keys.TAB)
        if b.js("return document.activeElement.matches('.answer .text')"):
            break
    else:
        that(False, "the answer is not reached with Tab")
    b.keys(Keys.ARROW_RIGHT)
    that(b.shown("#card"), "the right arrow shows no panel")
    first = b.text("#card .title")
    b.keys(Keys.ARROW_RIGHT)
    that(b.text("#card .title") != first, "the right arrow does not go on")
    b.keys(Keys.ARROW_LEFT)
    same(b.text("#card .title"), first, "the left arrow")
    b.keys(Keys.ESCAPE)
    that(not b.shown("#card"), "Escape does not close the panel")
    # Stop a long answer, then switch to the race.
    b.js("document.querySelector('#question').focus()")
    b.settings(max_tokens=2000)
    b.keys(STORY, Keys.ENTER)
    b.wait(lambda: len(b.texts(".answer .text")[-1]) > 20, "no text comes", ANSWER_SECONDS)
    b.keys(Keys.ESCAPE)
    b.wait_written()
    same(b.texts(".answer .notice")[-1], "Stopped.", "the notice after Escape")
    for _ in range(40):
        b.chord(Keys.SHIFT, Keys.TAB)
        if b.focused() == "tab-chat":
            break
    b.keys(Keys.ARROW_RIGHT)
    same((b.focused(), b.shown("#race"), b.shown("#chat")), ("tab-race", True, False), "after an arrow among the tabs")
    b.check_quiet()


@check("page: errors are told, and can be mended")
def errors(c):
    b = c.open()
    b.fill("#temperature", "-1")
    b.find("#question").send_keys("Hello", Keys.ENTER)
    same(b.focused(), "temperature", "the focus on a wrong number")
    that(not b.all(".turn"), "a request with a wrong number is sent")
    b.settings(temperature=0, max_tokens=16)
    b.fill("#question", "")
    limit = c.server.get("/props").good()["default_generation_settings"]["n_ctx"]
    b.ask("much " * (limit + 10))
    that(b.text(".answer .notice"), "a prompt that is too long is not told of")
    that(b.ask("Say hello."), "there is no answer after one that failed")
    that(len(b.all(".left-out")) == 1, "the failed message is not marked")
    b.check_quiet(expected=("status of 400",))
    with servers.Server(c.model, "--api-key", "right", binary=c.binary) as other:
        b.open(other.url + "/")
        b.settings(temperature=0, max_tokens=16)
        b.ask("Say hello.")
        that(b.text(".answer .notice") and b.focused() == "key", "a missing key is not asked for")
        b.keys("right", Keys.ENTER)
        b.wait(lambda: b.text(".answer .text"), "there is no answer with the key", ANSWER_SECONDS)
        b.wait_written()
        same(b.text(".answer .notice"), "Cut at the limit of tokens.", "the notice")
        that("right" not in json.dumps(b.js("return {...localStorage}")), "the key is kept")
        b.begin(STORY)
        other.kill()
        b.wait_written()
        that("connection broke" in b.texts(".answer .notice")[-1] or "does not answer" in b.texts(".answer .notice")[-1],
             f"a server that is gone: {b.texts('.answer .notice')[-1]!r}")
        b.check_quiet(expected=("status of 401", "net::ERR"))


@check("page: a server without a drafter")
def plain(c):
    with servers.Server(c.model, "--drafter", "none", binary=c.binary) as other:
        b = c.browser
        b.open(other.url + "/")
        b.settings(temperature=0, max_tokens=24)
        that(b.ask(QUOTE), "there is no answer")
        that(not b.all(".answer .hit"), "something is said to be guessed")
        b.click("#tab-race")
        b.click("#race-go")
        same(b.text("#verdict"), "This server has no drafter to race with.", "the verdict")
        b.check_quiet()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="instead of SmolLM2")
    parser.add_argument("--binary", default=servers.BINARY)
    parser.add_argument("--images", help="a folder for pictures of the page")
    parser.add_argument("--only", help="a pattern of names of checks")
    arguments = parser.parse_args()
    model = arguments.model or models.smollm2()
    if model is None:
        parser.error("there is no SmolLM2; scripts/fetch_model.sh fetches it")
    results = Results()
    with servers.Server(model, binary=arguments.binary) as server, Browser(arguments.images) as browser:
        context = Context(server, browser, arguments.binary, model)
        results.run("page", [SUITE], context, arguments.only, give_up=lambda: not server.alive)
    return results.finish()


if __name__ == "__main__":
    sys.exit(main())
