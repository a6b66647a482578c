// Says that the page's own script has run, and tells how long ago things were.
(() => {
  "use strict";
  const units = [["year", 31536000], ["month", 2592000], ["day", 86400], ["hour", 3600], ["minute", 60]];
  const ago = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  for (const time of document.querySelectorAll("time[datetime]")) {
    const seconds = (Date.parse(time.dateTime) - Date.now()) / 1000;
    const [unit, size] = units.find(([, s]) => Math.abs(seconds) >= s) ?? ["second", 1];
    time.title = ago.format(Math.round(seconds / size), unit);
  }
  document.documentElement.setAttribute("data-ready", "true");
})();
