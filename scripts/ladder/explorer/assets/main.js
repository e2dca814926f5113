// Puts the explorer's page together: reads the data, makes the timelines and the labs.
import {AddressLab} from "./addresses.js";
import {OrderLab} from "./order.js";
import {toggleTheme, Viewer} from "./viewer.js";

const find = (id) => document.getElementById(id);

/** JSON, compressed by gzip and in base64. */
async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

class Explorer extends Viewer {
  constructor({runs, labs}) {
    super(document);
    this.show(runs);
    this.addresses = new AddressLab(find("addresses"), labs.arch, labs.tiles);
    this.orders = new OrderLab(find("order"), labs.orders, labs.workers, labs.l2_megabytes);
    const theme = () => {
      toggleTheme();
      this.themeChanged();
    };
    const help = () => find("keys").showModal();
    find("theme").addEventListener("click", theme);
    find("help").addEventListener("click", help);
    const keys = {t: theme, "?": help};
    document.addEventListener("keydown", (e) => {
      if (!e.target.closest("input, select, dialog") && !e.ctrlKey && !e.metaKey && !e.altKey) keys[e.key]?.();
    });
    for (const button of document.querySelectorAll("[role=tab]"))
      button.addEventListener("click", () => this.tab(button.dataset.tab));
  }

  themeChanged() {
    super.themeChanged();
    this.orders?.update();
  }

  tab(name) {
    for (const button of document.querySelectorAll("[role=tab]")) {
      const chosen = button.dataset.tab === name;
      button.setAttribute("aria-selected", String(chosen));
      find(button.dataset.tab).hidden = !chosen;
    }
  }
}

window.explorer = new Explorer(await unpack(find("data").textContent));
document.documentElement.dataset.ready = "yes";
