package main

import (
	"fmt"
	"strings"
)

// A row is one line of the table.
type row struct {
	what  string
	name  string // the case
	way   int    // index in column.Tools; -1 where the case doesn't depend on it
	value func(result) float64
	show  func(float64) string
	size  bool      // of the answer: its ratio is that of the medians
	goals []float64 // at least so many times drawbridge's value, by column; 0 is no goal
	most  float64   // drawbridge's own value at most; 0 is no goal
}

func rows() []row {
	took := func(r result) float64 { return r.Median }
	size := func(r result) float64 { return r.Bytes }
	text := func(r result) float64 { return r.Text }
	return []row{
		{what: "read the loaded page, by a script", name: caseRead, way: 0, value: took, show: ms, goals: []float64{0, 100, 40}},
		{what: "read the loaded page, by a snapshot", name: caseRead, way: 1, value: took, show: ms},
		{what: "go to the page and read it, by a script", name: caseLoad, way: 0, value: took, show: ms, goals: []float64{0, 5, 2.5}},
		{what: "go to the page and read it, by a snapshot", name: caseLoad, way: 1, value: took, show: ms},
		{what: "the answer for the model, by a script", name: caseRead, way: 0, value: text, size: true, show: kb, most: 16_800},
		{what: "the answer for the model, by a snapshot", name: caseRead, way: 1, value: text, size: true, show: kb},
		{what: "the answer on the wire, by a script", name: caseRead, way: 0, value: size, size: true, show: kb},
		{what: "the answer on the wire, by a snapshot", name: caseRead, way: 1, value: size, size: true, show: kb},
		{what: "start, until the tools are listed", name: caseTools, way: -1, value: took, show: ms},
		{what: "start, until the first rows", name: caseFirst, way: -1, value: took, show: ms, goals: []float64{0, 1 / 0.35, 1 / 0.35}},
		{what: "memory of the server", name: caseServer, way: -1, value: took, show: mib, most: 25 << 20},
		{what: "memory of its browser", name: caseBrowser, way: -1, value: took, show: mib},
	}
}

func ms(v float64) string  { return fmt.Sprintf("%.*f ms", decimals(v), v) }
func kb(v float64) string  { return fmt.Sprintf("%.1f kB", v/1000) }
func mib(v float64) string { return fmt.Sprintf("%.0f MiB", v/(1<<20)) }

func decimals(v float64) int {
	if v < 100 {
		return 1
	}
	return 0
}

// table is the README's.
func (r *report) table() string {
	var b strings.Builder
	b.WriteString("| 50 rows × 12 fields |")
	for _, c := range r.Servers {
		b.WriteString(" " + c.title() + " |")
	}
	b.WriteString(" goal |\n|---|" + strings.Repeat("---|", len(r.Servers)) + "---|\n")
	for _, w := range rows() {
		cells := make([]string, len(r.Servers))
		for i := range r.Servers {
			cells[i] = r.cell(w, i)
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", w.what, strings.Join(cells, " | "), r.goal(w))
	}
	b.WriteString("\n" + r.how())
	return b.String()
}

func (c column) title() string {
	if c.Key == "drawbridge" {
		return c.Name
	}
	return c.Name + " " + c.Version
}

// result is a column's result for a row. A server with one way to read has it in
// both rows.
func (r *report) result(w row, i int) (result, bool) {
	c, tool := r.Servers[i], ""
	if w.way >= 0 && len(c.Tools) > 0 {
		tool = c.Tools[min(w.way, len(c.Tools)-1)]
	}
	return r.find(w.name, c.Key, tool)
}

// cell is a value and how many times drawbridge's it is, and what failed.
func (r *report) cell(w row, i int) string {
	got, ok := r.result(w, i)
	switch {
	case !ok:
		return "**not measured**"
	case got.Failed == len(got.Samples):
		return "**failed**: " + plain(got.Error)
	}
	text := w.show(w.value(got))
	if q := r.ratio(w, i); i > 0 && q > 0 {
		text += fmt.Sprintf(" (%.*f×)", decimals(q*10), q)
	}
	if got.Failed > 0 {
		text += fmt.Sprintf("; **%d of %d failed**: %s", got.Failed, len(got.Samples), plain(got.Error))
	}
	return text
}

// ratio is a column's value over drawbridge's: for times and memory the median over
// rounds, for sizes that of the medians. 0 if either failed.
func (r *report) ratio(w row, i int) float64 {
	got, ok := r.result(w, i)
	ours, ok2 := r.result(w, 0)
	switch {
	case !ok || !ok2 || w.value(ours) == 0:
		return 0
	case w.size:
		return w.value(got) / w.value(ours)
	}
	return got.Ratio
}

// goal says what a row is held to, and whether this run met it.
func (r *report) goal(w row) string {
	var goals []string
	met := true
	for i, g := range w.goals {
		if g > 0 && i < len(r.Servers) {
			goals = append(goals, fmt.Sprintf("≥ %.*f×", decimals(g*10), g))
			met = met && r.ratio(w, i) >= g
		}
	}
	if w.most > 0 {
		ours, ok := r.result(w, 0)
		goals = append(goals, "≤ "+w.show(w.most))
		met = met && ok && ours.Failed < len(ours.Samples) && w.value(ours) <= w.most
	}
	switch {
	case len(goals) == 0:
		return ""
	case met:
		return strings.Join(goals, ", ") + ": met"
	}
	return strings.Join(goals, ", ") + ": not met"
}

// how says how it was measured.
func (r *report) how() string {
	var tools []string
	for _, c := range r.Servers[1:] {
		tools = append(tools, fmt.Sprintf("%s and %s of %s", c.Tools[0], c.Tools[len(c.Tools)-1], c.Name))
	}
	m := r.Machine
	return fmt.Sprintf("Medians of %d sessions, each with %d reads and %d loads by every way in turn, over stdio, each server in its default settings with a browser of its own; "+
		"an answer counts only with all 600 fields. By a script and by a snapshot: %s; drawbridge's connector is its one way, so that its value stands in both rows. "+
		"In brackets: how many times drawbridge's value, the median over rounds. The other servers wait for a page to settle after what they do, by design. "+
		"Memory is resident, summed over processes, after the reads; drawbridge's server is its daemon, the stdio process and the connector's worker. "+
		"Measured with Chromium %s, Node %s and %s on %s, %d CPUs, %d GiB; load average %.1f before and %.1f after. %s\n",
		r.Sessions, r.Reads, r.Loads, strings.Join(tools, ", "), m.Chromium, m.Node, m.Go, m.OS, m.CPUs, m.MemoryGiB, m.LoadBefore, m.LoadAfter, m.busy())
}

// maxError is how much of an error stands in the table.
const maxError = 160

// plain makes a server's words fit for a cell of a Markdown table.
func plain(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	text = strings.NewReplacer("|", `\|`, "<", "&lt;", "`", "'").Replace(text)
	if r := []rune(text); len(r) > maxError {
		text = string(r[:maxError]) + "…"
	}
	return text
}
