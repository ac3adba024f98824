(() => {
  "use strict";
  const root = document.documentElement, button = document.getElementById("scheme");
  const kept = (store, key, value) => {
    try {
      return value === undefined ? store().getItem(key) : store().setItem(key, value);
    } catch {
      return null; // a browser may keep nothing for files
    }
  };

  // charts: uPlot draws what stands in data-chart
  const probe = document.createElement("span");
  probe.hidden = true;
  document.body.append(probe);
  const colour = (name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const short = (value) => {
    const size = Math.abs(value);
    for (const [limit, suffix] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]])
      if (size >= limit && size >= 1e4) return `${+(value / limit).toPrecision(4)}${suffix}`;
    return value.toLocaleString("en", { maximumSignificantDigits: 5 });
  };
  // where a line has no point at the step under the pointer: its nearest one
  const nearest = (plot, line, at) => {
    const values = plot.data[line];
    if (values[at] != null) return at;
    for (let away = 1; away < values.length; away += 1) {
      if (values[at - away] != null) return at - away;
      if (values[at + away] != null) return at + away;
    }
    return at;
  };
  const HEIGHT = 240;
  const build = (box, width) => {
    const chart = box.chart ??= JSON.parse(box.dataset.chart);
    const ink = colour("--muted"), grid = colour("--grid");
    const axis = { stroke: ink, font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif",
      labelSize: 20, ticks: { stroke: grid, width: 1 }, grid: { stroke: grid, width: 1 },
      values: (_, ticks) => ticks.map(short) };
    const far = (_, low, high) => {
      const room = (high - low || Math.abs(high) || 1) * 0.06;
      return [chart.zero ? Math.min(0, low) : low - room, high + room];
    };
    // without a pointer, as on paper, the legend shows the last values
    const last = (values) => values.filter((v) => v !== null && v !== false).at(-1);
    const told = (values, form) => (_, v, line, at) => at == null ? form(last(values)) : v == null ? "–" : form(v);
    const value = (v) => `${short(v)}${chart.percent ? "%" : ""}`;
    const dotted = chart.lines.filter((line) => line.dots);
    const options = {
      width, height: HEIGHT,
      scales: { x: { time: false }, y: { range: far } },
      axes: [{ ...axis, label: chart.x_label, size: 34, space: 60 }, { ...axis, label: chart.unit,
        size: (_, shown) => 22 + 7 * Math.max(3, ...(shown ?? []).map((text) => text.length)) }],
      cursor: { dataIdx: nearest, points: { size: 7 }, drag: { x: true, y: false } },
      legend: { markers: { width: 2 } },
      series: [{ label: chart.x_label, value: told(chart.x, (v) => v.toLocaleString("en")) },
        ...chart.lines.map((line) => {
          const stroke = colour(`--series-${line.colour}`);
          const ring = dotted.indexOf(line); // around equal dots of the lines before
          return { label: line.label, stroke, width: 1.75, value: told(line.values, value),
            ...(line.dots ? { paths: () => null,
              points: { show: true, size: 7 + 5 * ring, fill: ring ? "transparent" : stroke } }
              : { points: { show: false } }) };
        })],
    };
    const values = (line) => line.values.map((v) => v === null ? undefined : v === false ? null : v);
    box.plot?.destroy();
    box.plot = new uPlot(options, [chart.x, ...chart.lines.map(values)], box);
  };
  const boxes = [...document.querySelectorAll(".plot")];
  const redraw = (width) => boxes.forEach((box) => { if (box.clientWidth) build(box, width ?? box.clientWidth); });
  const watch = new ResizeObserver((entries) => entries.forEach(({ target, contentRect }) => {
    const width = Math.floor(contentRect.width);
    if (!width || root.dataset.print) return;
    if (!target.plot) build(target, width);
    else if (target.plot.width !== width) target.plot.setSize({ width, height: HEIGHT });
  }));
  boxes.forEach((box) => {
    watch.observe(box);
    box.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key], plot = box.plot;
      if (!step || !plot) return;
      event.preventDefault();
      const last = plot.data[0].length - 1, at = Math.max(0, Math.min(last, (plot.cursor.idx ?? (step > 0 ? -1 : last + 1)) + step));
      plot.setCursor({ left: plot.valToPos(plot.data[0][at], "x"), top: HEIGHT / 3 });
    });
  });
  addEventListener("beforeprint", () => { root.dataset.print = "yes"; redraw(320); });
  addEventListener("afterprint", () => { delete root.dataset.print; redraw(); });

  // light and dark
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const scheme = () => root.dataset.scheme || (dark.matches ? "dark" : "light");
  const show = () => { button.textContent = scheme() === "dark" ? button.dataset.light : button.dataset.dark; redraw(); };
  const set = (name) => { if (name === "light" || name === "dark") root.dataset.scheme = name; show(); };
  set(kept(() => localStorage, "hunmin-scheme"));
  button.hidden = false;
  button.addEventListener("click", () => {
    set(scheme() === "dark" ? "light" : "dark");
    kept(() => localStorage, "hunmin-scheme", scheme());
  });
  dark.addEventListener("change", show);

  // a link to a folded section opens it; a page that loads itself again keeps open what was open
  const open = () => {
    const fold = document.getElementById(location.hash.slice(1))?.querySelector(".fold");
    if (fold) fold.open = true;
  };
  addEventListener("hashchange", open);
  open();
  document.querySelectorAll("details").forEach((part, at) => {
    const key = `hunmin-open-${location.pathname}-${at}`;
    if (kept(() => sessionStorage, key) === "yes") part.open = true;
    part.addEventListener("toggle", () => kept(() => sessionStorage, key, part.open ? "yes" : "no"));
  });
})();
