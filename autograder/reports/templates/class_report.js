// Sorts, filters and searches the tables of the class report. The page's policy allows this text
// only, by its hash. It reads words and writes them as words; no text of a page becomes markup.
"use strict";
(() => {
  const order = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const make = (tag, words = "") => {
    const element = document.createElement(tag);
    element.textContent = words;
    return element;
  };

  const value = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.value ?? cell.textContent.trim();
  };

  const sort = (table, column, isNumber) => {
    const heads = [...table.tHead.rows[0].cells];
    const up = heads[column].getAttribute("aria-sort") !== "ascending";
    heads.forEach((head) => head.removeAttribute("aria-sort"));
    heads[column].setAttribute("aria-sort", up ? "ascending" : "descending");
    const body = table.tBodies[0];
    const compare = (one, other) => {
      const [a, b] = [value(one, column), value(other, column)];
      if (a === "" || b === "") return (a === "") - (b === ""); // empty cells stay last
      const sign = isNumber ? a - b : order.compare(a, b);
      return up ? sign : -sign;
    };
    body.append(...[...body.rows].sort(compare));
  };

  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      if (head.querySelector(".unseen")) return; // a column of bars
      const button = make("button", head.textContent.trim());
      button.type = "button";
      button.addEventListener("click", () => {
        sort(table, column, head.classList.contains("number"));
      });
      head.replaceChildren(button);
    });
  }

  const rows = [...document.querySelectorAll("table.submissions tbody tr")];
  const tools = document.getElementById("tools");
  if (!tools || !rows.length) return;

  const search = make("input");
  search.type = "search";
  search.placeholder = "name, mistake, status";
  const choice = make("select");
  for (const [name, words] of [
    ["", "all"],
    ["review", "need manual review"],
    ["open", "points missing"],
    ["full", "full marks"],
    ["none", "no grade"],
    ["nolab", "no written answers"],
  ]) {
    const option = make("option", words);
    option.value = name;
    choice.append(option);
  }
  const shown = make("p");
  shown.className = "small soft";
  shown.setAttribute("aria-live", "polite");

  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const row of rows) {
      const states = row.dataset.states.split(" ");
      const fits = !choice.value || states.includes(choice.value);
      row.hidden = !(fits && words.every((word) => texts.get(row).includes(word)));
      count += !row.hidden;
    }
    shown.textContent = `${count} of ${rows.length} submissions shown`;
  };
  for (const [words, field] of [["Search", search], ["Show", choice]]) {
    const label = make("label", words);
    label.append(field);
    field.addEventListener("input", filter);
    tools.append(label);
  }
  tools.append(shown);
  tools.hidden = false;
  filter();
})();
