// Loads an issue's comments after the page, as applications with an API do.
(() => {
  "use strict";
  const { id } = document.currentScript.dataset;
  const names = Object.fromEntries(JSON.parse(document.getElementById("late-users").textContent).map((u) => [u.login, u.name]));
  const section = document.getElementById("comments");
  const template = document.getElementById("comment-template");

  const render = (issue) => {
    section.querySelector(".loading").remove();
    for (const c of issue.comments) {
      const el = template.content.cloneNode(true).querySelector(".comment");
      el.id = `comment-${c.id}`;
      el.dataset.id = c.id;
      const author = el.querySelector(".author");
      author.dataset.login = c.author;
      author.textContent = names[c.author] ?? c.author;
      const time = el.querySelector("time");
      time.dateTime = c.created;
      time.textContent = c.created.slice(0, 10);
      el.querySelector(".body").textContent = c.body;
      section.append(el);
    }
    section.dataset.state = "ready";
  };
  addEventListener("load", () => setTimeout(() => {
    const x = new XMLHttpRequest();
    x.open("GET", `/api/issues/${id}`);
    x.responseType = "json";
    x.onload = () => { if (x.status === 200) render(x.response); else section.dataset.state = "failed"; };
    x.onerror = () => { section.dataset.state = "failed"; };
    x.send();
  }, 300));
})();
