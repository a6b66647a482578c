package main

import "github.com/drawbridge-mcp/drawbridge/test/bench/results"

// A report is a whole run.
type report struct {
	Machine  machine  `json:"machine"`
	Sessions int      `json:"sessions"`
	Reads    int      `json:"reads"` // in a session
	Loads    int      `json:"loads"`
	Servers  []column `json:"servers"` // drawbridge first
	Cases    []result `json:"cases"`
}

// A column is a server.
type column struct {
	Key     string `json:"key"`
	Name    string `json:"name"`
	Version string `json:"version"`
	// Tools are the ways to read: first the one that returns what the caller asks
	// for, and then the one that returns the page. drawbridge has one for both.
	Tools []string `json:"tools"`
}

// A result is what one server needed for one case.
type result struct {
	Case    string   `json:"case"`
	Server  string   `json:"server"`
	Tool    string   `json:"tool,omitempty"`
	Median  float64  `json:"median"`          // ms, or bytes for memory, of the samples without an error
	Ratio   float64  `json:"ratio,omitempty"` // median over rounds of this one's value over drawbridge's
	Bytes   float64  `json:"bytes,omitempty"` // medians of the answer's sizes
	Text    float64  `json:"text,omitempty"`
	Failed  int      `json:"failed,omitempty"` // samples
	Error   string   `json:"error,omitempty"`  // the first one's
	Samples []sample `json:"samples"`
}

// fill takes the results from what was measured.
func (r *report) fill(m *meter) {
	for _, s := range m.servers {
		c := column{Key: s.key, Name: s.name, Version: s.version}
		for _, w := range s.ways {
			c.Tools = append(c.Tools, w.tool)
		}
		r.Servers = append(r.Servers, c)
	}
	for _, x := range m.all {
		r.Cases = append(r.Cases, summary(x, m.ours(x.name)))
	}
}

// ours is drawbridge's series of a case; it is measured first.
func (m *meter) ours(name string) []sample {
	for _, x := range m.all {
		if x.server == m.servers[0].key && x.name == name {
			return x.samples
		}
	}
	return nil
}

func summary(x *series, ours []sample) result {
	r := result{Case: x.name, Server: x.server, Tool: x.tool, Samples: x.samples}
	var values, ratios, bytes, texts []float64
	for i, s := range x.samples {
		if s.Err != "" {
			if r.Failed++; r.Error == "" {
				r.Error = s.Err
			}
			continue
		}
		values, bytes, texts = append(values, s.Value), append(bytes, float64(s.Bytes)), append(texts, float64(s.Text))
		if i < len(ours) && ours[i].Err == "" && ours[i].Value > 0 {
			ratios = append(ratios, s.Value/ours[i].Value)
		}
	}
	r.Median, r.Ratio, r.Bytes, r.Text = results.Median(values), results.Median(ratios), results.Median(bytes), results.Median(texts)
	return r
}

// find returns a server's result; tool is "" where the case doesn't depend on it.
func (r *report) find(name, server, tool string) (result, bool) {
	for _, c := range r.Cases {
		if c.Case == name && c.Server == server && c.Tool == tool {
			return c, true
		}
	}
	return result{}, false
}
