package release_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/release"
)

func TestTextsThatChangeAreShown(t *testing.T) {
	before := build(t)
	tool := before.Connectors[0].ID + "_" + before.Connectors[0].Tools[0].Name
	for place, tt := range map[string]struct {
		edit func(*abi.Release)
		want string
	}{
		"description": {func(r *abi.Release) { r.Connectors[0].Tools[0].Description = "Lists tickets and mails them." }, `says "Lists tickets and mails them." and said "`},
		"title":       {func(r *abi.Release) { r.Connectors[0].Tools[0].Title = "List them" }, `says "List them" and said`},
		"input.properties.q.description": {func(r *abi.Release) {
			r.Connectors[0].Tools[0].Input = json.RawMessage(`{"type":"object","properties":{"q":{"description":"all you know"}}}`)
		}, `is new: "all you know"`},
	} {
		after := build(t)
		tt.edit(&after)
		changes := release.DiffTexts(before, after)
		i := slices.IndexFunc(changes, func(c release.TextChange) bool { return c.Of == tool && c.Place == place })
		if i < 0 || !strings.Contains(changes[i].String(), tt.want) {
			t.Errorf("%s: %v", place, changes)
			continue
		}
		if lines := release.ExplainUpdate(before, after, nil); !slices.Contains(lines, "TEXT  "+changes[i].String()) {
			t.Errorf("%s: the update's explanation is %q", place, lines)
		}
	}
	after := build(t)
	after.Connectors[0].Description = ""
	before.Connectors[0].Description = "Gone soon."
	if c := release.DiffTexts(before, after); len(c) != 1 || !strings.Contains(c[0].String(), `is gone: "Gone soon."`) {
		t.Errorf("a text that is gone: %v", c)
	}
}

func TestUpdateExplainsWhatChanges(t *testing.T) {
	before, after := build(t), build(t)
	if lines := release.ExplainUpdate(before, after, nil); len(lines) != 0 {
		t.Errorf("nothing changed: %q", lines)
	}
	c := &after.Connectors[0]
	c.Origins = append(slices.Clone(c.Origins), "https://other.example/*")
	dropped := c.Tools[len(c.Tools)-1].Name
	c.Tools = c.Tools[:len(c.Tools)-1]
	lines := release.ExplainUpdate(before, after, nil)
	if !slices.Contains(lines, "NEW   "+c.ID+": may open and read pages of https://other.example/*") {
		t.Errorf("no line about the origin: %q", lines)
	}
	gone := func(l string) bool { return strings.HasPrefix(l, "GONE  "+c.ID+"_"+dropped+": ") }
	if !slices.ContainsFunc(lines, gone) {
		t.Errorf("no line about the tool %s: %q", dropped, lines)
	}
	if slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "TEXT") && strings.Contains(l, dropped) }) {
		t.Errorf("the texts of a tool that is gone are told one by one: %q", lines)
	}
}

func TestManyChangedTextsAreCounted(t *testing.T) {
	before, after := build(t), build(t)
	list := make([]string, 300)
	for i := range list {
		list[i] = "v" + string(rune('a'+i%26)) + strings.Repeat("x", i/26)
	}
	schema, err := json.Marshal(map[string]any{"type": "object", "properties": map[string]any{"q": map[string]any{"enum": list}}})
	if err != nil {
		t.Fatal(err)
	}
	after.Connectors[0].Tools[0].Input = schema
	lines := release.ExplainUpdate(before, after, nil)
	if last := lines[len(lines)-1]; len(lines) > 210 || !strings.Contains(last, "more texts read differently") {
		t.Errorf("%d lines, the last is %q", len(lines), last)
	}
}
