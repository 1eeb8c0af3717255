"""The console in a real browser: pages stay fresh, recover, fit their window, and are operated."""

from dataclasses import replace

from starlette.types import ASGIApp, Receive, Scope, Send

from lifoq import QueueStats, StoreUnavailable, every
from lifoq.operating.task_log import LogLine
from lifoq_console.app import Settings, application
from lifoq_console.subject import Subject
from tests.browser import Browser, in_a_browser
from tests.console.conftest import TOKEN, Console, Logs, Metrics, fail, worked

pytestmark = in_a_browser


def enter(browser: Browser, console: Console, path: str = "") -> None:
    browser.open(f"http://{console.host}/enter?token={TOKEN}")
    if path:
        browser.open(f"http://{console.host}{path}")


def test_a_page_shows_what_was_seen_last_and_goes_on_once_the_queue_answers(
    queue, console, browser, monkeypatch
):
    stats, is_down = queue.stats, False

    def patchy() -> QueueStats:
        if is_down:
            raise StoreUnavailable("no answer")
        return stats()

    monkeypatch.setattr(queue, "stats", patchy)
    enter(browser, console)
    is_down = True
    queue.put("a")
    browser.wait()
    assert "<dd>0</dd>" in browser.html
    assert "The queue cannot be reached: no answer. What you see is from" in browser.text
    is_down = False
    browser.wait()
    assert 'role="status" hidden' in browser.html
    assert "<title>Keeping up · prod" in browser.html

    is_down = True
    browser.open(f"http://{console.host}/")
    browser.wait()
    assert "Keeping up" not in browser.text
    browser.run("window.isOld = true")
    is_down = False
    browser.wait()
    assert not browser.run("'isOld' in window")
    assert 'role="status" hidden' in browser.html
    assert ">Keeping up</h1>" in browser.html


def test_lists_and_tasks_refresh_themselves_while_they_are_looked_at_and_nobody_uses_them(
    queue, console, browser
):
    queue.put("a", task_id="first")
    enter(browser, console)
    pending = f"http://{console.host}/tasks?status=PENDING"
    for number, (use, refreshes) in enumerate(
        (
            ("0", True),
            ("document.querySelector('[name=type]').value = 'b'", False),
            ("document.querySelector('main [name=id]').click()", False),
            ("document.querySelector('td a').focus()", False),
        )
    ):
        browser.open(pending)
        browser.run(use)
        queue.put("a", task_id=f"came later {number}")
        browser.wait()
        assert ">first<" in browser.html
        assert (f">came later {number}<" in browser.html) is refreshes, use
        if refreshes:
            browser.run("document.querySelector('main [name=id]').click()")
            assert browser.run("selection.querySelector('button').textContent") == "Cancel 1"
    browser.open(f"http://{console.host}/task?id=first")
    queue.cancel("first")
    browser.wait()
    assert ">CANCELLED<" in browser.html
    assert 'role="status" hidden' in browser.html


def test_an_open_page_recovers_once_the_console_answers_again(queue, start, browser, monkeypatch):
    console: dict[str, ASGIApp] = {}
    now = "as it was"

    async def ends_in_its_answer(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-length", b"100")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})

    def made(subject: Subject, settings: Settings) -> ASGIApp:
        console["as it was"] = application(subject, settings)
        console["started anew"] = application(subject, replace(settings, token=2 * TOKEN))
        console["lost"] = ends_in_its_answer

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            await console[now](scope, receive, send)

        return answer

    monkeypatch.setattr("tests.console.conftest.application", made)
    enter(browser, start(queue))
    browser.run("window.isOld = true")
    now = "lost"
    browser.wait()
    assert "The console does not answer. Is it still running?" in browser.text
    now = "as it was"
    queue.put("a")
    browser.wait()
    assert 'role="status" hidden' in browser.html
    assert ">1</a></dd>" in browser.html
    assert "<title>Keeping up · prod" in browser.html
    assert not browser.run("'isOld' in window"), "the console may be newer: so is the whole page"
    now = "started anew"
    browser.wait()
    assert "Open the address that the console printed when it was started. What" in browser.text
    assert ">1</a></dd>" in browser.html


def test_rows_are_selected_by_keys(queue, console, browser):
    for task_id in ("t1", "t2", "t3"):
        fail(queue, task_id)
    enter(browser, console, "/tasks?status=FAILURE")
    chosen = browser.run(
        """
        for (const key of ["j", "j", "x", "j", "x", "k", "k", "x", "j", "x"]) {
          const typed = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
          document.activeElement.dispatchEvent(typed);
        }
        [...document.querySelectorAll("[name=id]:checked")].map((box) => box.value)
        """
    )
    assert chosen == ["t3", "t1"]
    buttons = "[...selection.querySelectorAll('button')].map((button) => button.textContent)"
    assert browser.run(buttons) == ["Redrive 2", "Delete 2"]


def test_a_person_puts_a_task_and_puts_it_again_with_another_payload(queue, console, browser):
    enter(browser, console)
    browser.press("Put")
    browser.fill("task_type", "price.show")
    browser.fill("payload", '{\n "cents": 123456\n}')
    browser.fill("key", "d-17")
    browser.press("Preview")
    assert "Put this task?" in browser.text
    browser.press("Put it")
    assert "PENDING" in browser.text
    browser.press("Put again")
    browser.fill("payload", "[7]")
    browser.press("Preview")
    browser.press("Put it")
    second, first = queue.peek()
    assert (first.payload, first.key) == ({"cents": 123456}, "d-17")
    assert (second.task_type, second.payload, second.key) == ("price.show", [7], "d-17")


def test_a_tasks_log_is_loaded_into_its_page_and_stays_there_when_that_refreshes(
    queue, start, browser
):
    queue.put("a", task_id="t")
    queue.store.claim("t", claim_id="c", lease=30)
    console = start(queue, logs=Logs(LogLine(at=0, level="INFO", text="it answers")))
    enter(browser, console, "/task?id=t")
    browser.run("document.querySelector('main').dataset.old = ''")
    browser.wait()
    assert browser.run("document.querySelector('main:not([data-old]) .log') !== null")
    assert "INFO it answers" in browser.text


def test_nothing_is_cut_on_a_phone_nor_on_a_wider_screen(queue, start, browser):
    fail(queue, 60 * "long", task_type=60 * "type", message=60 * "word")
    queue.put("a", 300 * "x", task_id="waits", delay=1)
    worked(queue, "w1", 60 * "work")
    queue.schedules.put(64 * "s", every(3600), 60 * "type", 300 * "x", key=60 * "key")
    console = start(queue, cloudwatch=Metrics(TasksPending=1e6, TasksShed=20))
    enter(browser, console)
    for path in (
        *("/?range=7d", "/types", "/tasks?status=FAILURE", "/tasks?status=DELAYED"),
        *("/workers", "/schedules", "/type?name=" + 60 * "type"),
        *("/search?q=long&all=1", "/put", "/put?from=waits", "/put?from=" + 60 * "long"),
        *("/task?id=" + 60 * "long", "/task?id=waits", "/bulk?status=FAILURE"),
    ):
        browser.open(f"http://{console.host}{path}")
        assert browser.run("document.querySelector('[data-failed]')") is None, path
        for width in (390, 1_440):
            browser.resize(width)
            root = "document.documentElement"
            assert browser.run(f"{root}.scrollWidth - {root}.clientWidth") == 0, (path, width)


def test_a_name_is_not_broken_in_a_list_that_has_the_room(queue, console, browser):
    fail(
        queue,
        "0b9e5c0e-8f0a-4b5e-9a36-6d6f0f6b2c11",
        task_type="mail.send-to-a-customer",
        message=30 * "a long message ",
    )
    enter(browser, console, "/tasks?status=FAILURE")
    browser.resize(1_440)
    assert browser.run(
        """[...document.querySelectorAll(".tasks td:not(.long)")].map((cell) => {
          const range = document.createRange();
          range.selectNodeContents(cell);
          const tops = [...range.getClientRects()].filter((one) => one.width).map((one) => one.top);
          return Math.max(...tops) - Math.min(...tops) < 12;
        }).every(Boolean) && [...document.querySelectorAll(".tasks .id a, .name")]
          .every((one) => one.scrollWidth <= one.clientWidth)"""
    )
