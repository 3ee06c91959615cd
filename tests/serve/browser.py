"""Drives the web page in headless Chromium, and checks what must hold for every state of the page."""
import json
import os
import pathlib
import urllib.parse

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from results import that

ANSWER_SECONDS = 240
WIDE = (1040, 700)
PHONE = (360, 740)

# JavaScript: the visible texts whose contrast with their background is below 4.5 (WCAG AA).
POOR_CONTRAST = """
const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
function rgba(colour) {
  canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
  return [r, g, b, a / 255];
}
const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
function behind(element) {
  if (!element) return [255, 255, 255, 1];
  const colour = rgba(getComputedStyle(element).backgroundColor);
  return colour[3] === 1 ? colour : over(colour, behind(element.parentElement));
}
function light([r, g, b]) {
  const [x, y, z] = [r, g, b].map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * x + 0.7152 * y + 0.0722 * z;
}
const poor = [];
for (const element of document.querySelectorAll("body *")) {
  const texts = [...element.childNodes].filter((node) => node.nodeType === 3 && node.data.trim());
  if (!texts.length || !element.checkVisibility() || element.closest(":disabled, .unseen")) continue;
  const back = behind(element);
  const a = light(over(rgba(getComputedStyle(element).color), back)), b = light(back);
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) poor.push(ratio.toFixed(2) + ": " + element.tagName + " " + texts[0].data.trim().slice(0, 40));
}
return poor;
"""

# JavaScript: the elements that exceed the window on the left or right, and whether the page scrolls.
OUTSIDE = """
return [...document.querySelectorAll("body *")].filter((element) => {
  if (!element.checkVisibility() || element.closest(".unseen, svg")) return false;
  const {left, right, width} = element.getBoundingClientRect();
  return width > 0 && (left < -0.5 || right > innerWidth + 0.5);
}).map((element) => element.tagName + " #" + element.id + " ." + element.className).concat(
  document.scrollingElement.scrollWidth > innerWidth ? ["the page is wider than the window"] : [],
  document.scrollingElement.scrollHeight > innerHeight ? ["the page is higher than the window"] : []);
"""


class Browser:
    """A browser with a fresh profile, as a context manager. `images`: a folder for screenshots, or None."""

    def __init__(self, images=None):
        self.images = pathlib.Path(images) if images else None
        options = webdriver.ChromeOptions()
        for option in ("--headless=new", "--disable-gpu", "--force-device-scale-factor=1", "--lang=en",
                       f"--window-size={WIDE[0]},{WIDE[1]}", "--disable-dev-shm-usage", "--disable-component-update",
                       "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"):
            options.add_argument(option)
        if os.geteuid() == 0:
            options.add_argument("--no-sandbox")  # Chromium's sandbox does not work as root
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        self.driver.set_script_timeout(30)
        self.host = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()

    # Windows.

    def open(self, url, size=WIDE, dark=False, touch=False, calm=False, keeps_settings=False):
        """Loads the page on an emulated device. `calm`: the user prefers reduced motion."""
        self.host = urllib.parse.urlsplit(url).netloc
        self.cdp("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=touch)
        self.cdp("Emulation.setTouchEmulationEnabled", enabled=touch)
        self.cdp("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if calm else "no-preference"},
            {"name": "pointer", "value": "coarse" if touch else "fine"}])
        self.driver.get(url)
        if not keeps_settings:
            self.js("localStorage.clear()")
            self.driver.refresh()
        self.wait(lambda: self.text("#model"), "the page does not say which model there is", 20)

    def cdp(self, command, **fields):
        return self.driver.execute_cdp_cmd(command, fields)

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def picture(self, name):
        if self.images:
            self.images.mkdir(parents=True, exist_ok=True)
            self.driver.save_screenshot(str(self.images / f"serve_{name}.png"))

    # Elements.

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector):
        """The text content of the first such element; "" if there is none."""
        return self.js("return (document.querySelector(arguments[0]) || {}).textContent || ''", selector)

    def texts(self, selector):
        return self.js("return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent)", selector)

    def shown(self, selector):
        return any(element.is_displayed() for element in self.all(selector))

    def click(self, selector):
        self.find(selector).click()

    def hover(self, element):
        ActionChains(self.driver).move_to_element(element).perform()

    def tap(self, element):
        """Scrolls to an element and touches the middle of its first line."""
        x, y = self.js("""arguments[0].scrollIntoView({block: "center"});
            const {left, top, width, height} = arguments[0].getClientRects()[0];
            return [left + width / 2, top + height / 2]""", element)
        self.cdp("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.cdp("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def keys(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def chord(self, modifier, key):
        ActionChains(self.driver).key_down(modifier).send_keys(key).key_up(modifier).perform()

    def focused(self):
        """The id of the focused element, or else its class or tag."""
        return self.js("const one = document.activeElement; return one.id || one.className || one.tagName")

    def fill(self, selector, text):
        """Sets the value of a field and sends the events of a user's input."""
        self.js("""const [field, value] = [document.querySelector(arguments[0]), arguments[1]];
                   field.value = value;
                   for (const type of ["input", "change"]) field.dispatchEvent(new Event(type, {bubbles: true}));""",
                selector, str(text))

    def settings(self, **values):
        for name, value in values.items():
            self.fill("#" + name, value)

    # Waiting.

    def wait(self, condition, complaint, seconds=10):
        def tried(_):
            return condition()
        return WebDriverWait(self.driver, seconds, poll_frequency=0.05).until(tried, complaint)

    def is_busy(self):
        return self.js("return document.body.classList.contains('busy')")

    def wait_written(self):
        self.wait(lambda: not self.is_busy(), "the answer does not end", ANSWER_SECONDS)

    def ask(self, question):
        """Sends a message, waits for the whole answer and returns it."""
        self.begin(question)
        self.wait_written()
        return self.texts(".answer .text")[-1]

    def begin(self, question):
        count = len(self.all(".turn"))
        self.fill("#question", question)
        self.find("#question").send_keys(Keys.ENTER)
        self.wait(lambda: len(self.all(".turn")) > count, "a message is not sent")

    def copied(self, selector):
        """The clipboard's text after all of an element was selected and copied."""
        return self.js("""const range = document.createRange();
            range.selectNodeContents(document.querySelector(arguments[0]));
            getSelection().removeAllRanges(); getSelection().addRange(range);
            const data = new DataTransfer();
            document.activeElement.blur();
            document.body.dispatchEvent(new ClipboardEvent("copy",
                {clipboardData: data, bubbles: true, cancelable: true}));
            getSelection().removeAllRanges();
            return data.getData("text/plain");""", selector)

    # What must hold in every state of the page.

    def check_layout(self, where):
        that(not (outside := self.js(OUTSIDE)), f"{where}: outside of the window: {outside[:6]}")

    def check_contrast(self, where):
        that(not (poor := self.js(POOR_CONTRAST)), f"{where}: hard to read: {poor[:6]}")

    def check_quiet(self, expected=()):
        """Fails on console messages that contain none of `expected`, and on requests to other hosts."""
        complaints = [entry["message"] for entry in self.driver.get_log("browser")
                      if entry["level"] in ("SEVERE", "WARNING")]
        complaints = [text for text in complaints if not any(part in text for part in expected)]
        that(not complaints, f"on the console: {complaints[:3]}")
        asked = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                asked.append(message["params"]["request"]["url"])
        elsewhere = [url for url in asked if not url.startswith("data:") and urllib.parse.urlsplit(url).netloc != self.host]
        that(asked, "no request was seen at all")
        that(not elsewhere, f"requests elsewhere: {elsewhere[:3]}")
