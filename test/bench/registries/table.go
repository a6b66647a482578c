package main

import (
	"fmt"
	"strings"
)

// bytesOf shows a size in decimal units.
func bytesOf(v float64) string {
	switch {
	case v >= 1e9:
		return fmt.Sprintf("%.2f GB", v/1e9)
	case v >= 1e6:
		return fmt.Sprintf("%.2f MB", v/1e6)
	}
	return fmt.Sprintf("%.1f kB", v/1e3)
}

func seconds(v float64) string {
	if v < 1 {
		return fmt.Sprintf("%.0f ms", v*1000)
	}
	return fmt.Sprintf("%.2f s", v)
}

// A line is one row of the table: what, and a result by column.
type line struct {
	what                   string
	drawbridge, krew, helm string // keys of results; empty is nothing to compare
	shallow, mirror        string
	show                   func(result) string
	of                     func(result) float64
}

func lines() []line {
	moved := func(r result) string { return bytesOf(r.Bytes) }
	took := func(r result) string { return seconds(r.Seconds) }
	memory := func(r result) string { return fmt.Sprintf("%.0f MiB", r.RSS/(1<<20)) }
	ofBytes := func(r result) float64 { return r.Bytes }
	ofTime := func(r result) float64 { return r.Seconds }
	ofRSS := func(r result) float64 { return r.RSS }
	return []line{
		{"know the registry or index: bytes, once", drawbridgeAdd, krewAdd, "", cloneShallow, "", moved, ofBytes},
		{"know the registry or index: time, once", drawbridgeAdd, krewAdd, "", cloneShallow, "", took, ofTime},
		{"install one: bytes", drawbridgeInstall, krewInstall, helmInstall, "", cloneMirror, moved, ofBytes},
		{"install one: time", drawbridgeInstall, krewInstall, helmInstall, "", cloneMirror, took, ofTime},
		{"both, from a folder: time", drawbridgeFile, "", "", "", "", took, ofTime},
		{"verify the newest snapshot: time", drawbridgeVerify, "", "", "", "", took, ofTime},
		{"verify the installed module: time", drawbridgeLoad, "", "", "", "", took, ofTime},
		{"memory, largest process", drawbridgeInstall, krewInstall, helmInstall, cloneShallow, cloneMirror, memory, ofRSS},
	}
}

// table is the README's. In brackets: how many times drawbridge's value.
func (r *report) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | drawbridge | %s | %s | git clone --depth 1 | git clone --mirror |\n|---|---|---|---|---|---|\n",
		r.Size, strings.TrimSpace("krew "+r.Krew), strings.TrimSpace("helm "+r.Helm))
	for _, l := range lines() {
		base := r.Results[l.drawbridge]
		cells := []string{l.show(base)}
		if base.Error != "" {
			cells[0] = base.Error
		}
		for _, key := range []string{l.krew, l.helm, l.shallow, l.mirror} {
			cells = append(cells, r.cell(l, key, base))
		}
		fmt.Fprintf(&b, "| %s | %s |\n", l.what, strings.Join(cells, " | "))
	}
	fmt.Fprintf(&b, "| commands run, from nothing to installed | %s | %s | %s |  |  |\n",
		r.commands(drawbridgeAdd, drawbridgeInstall), r.commands(krewAdd, krewInstall), r.commands(helmInstall))
	b.WriteString("\n" + r.how())
	return b.String()
}

// commands counts those that were run of a program.
func (r *report) commands(keys ...string) string {
	n := 0
	for _, k := range keys {
		if r.Results[k].Command {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func (r *report) cell(l line, key string, base result) string {
	got, ok := r.Results[key]
	switch {
	case !ok:
		return ""
	case got.Error != "":
		return got.Error
	case l.of(base) == 0:
		return l.show(got)
	}
	return fmt.Sprintf("%s (%.2f×)", l.show(got), l.of(got)/l.of(base))
}

// how says what the table is about.
func (r *report) how() string {
	install := r.Results[drawbridgeInstall]
	return fmt.Sprintf("An install moves %s beside its own module of %s, TLS included: the module is a ref of its own, so that any Git server brings it alone. "+
		"The registry takes %s on disk; publishing one more version into it takes %s. "+
		"Modules can't be compressed. All over https from Git's own server on the loopback, which counts; medians of %d rounds, each with everything new, the mirror once. "+
		"drawbridge is its registry client without compiling the module, and without the two questions that a person answers, about the registry and the plugin; its bytes are vouched for by publisher, registry and owner, krew's by a hash in an index that nobody signs, helm's by whoever's key is in the keyring. krew and helm get an archive of the same bytes, by the same server, helm with its signature. A process counts at least the memory of the program that starts it, here this benchmark: equal values in that row mean no more than that. Measured with %s.\n",
		bytesOf(install.Bytes-float64(r.Module)), bytesOf(float64(r.Module)), bytesOf(float64(r.Repository)), seconds(r.PublishOne), r.Rounds, r.Machine)
}
