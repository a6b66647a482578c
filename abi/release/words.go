package release

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// plainWord matches a text that can stand without quotes and is nothing else in JSON.
var plainWord = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$-]*$`)

// described says all of a definition in plain words: "title "Project", type string".
// Its name is left to the caller.
func described(v any) string {
	fields := fieldsOf(v)
	delete(fields, "name")
	var parts []string
	for _, path := range slices.Sorted(maps.Keys(fields)) {
		parts = append(parts, strings.TrimSpace(path+" "+fields[path]))
	}
	return strings.Join(parts, ", ")
}

// changed says in which fields a definition is another one.
func changed(was, is any) string {
	before, after := fieldsOf(was), fieldsOf(is)
	all := maps.Clone(before)
	maps.Copy(all, after)
	var parts []string
	for _, path := range slices.Sorted(maps.Keys(all)) {
		old, had := before[path]
		now, has := after[path]
		switch {
		case had && has && old != now:
			parts = append(parts, fmt.Sprintf("%s is now %s, and was %s", path, now, old))
		case has && !had:
			parts = append(parts, fmt.Sprintf("%s is new: %s", path, now))
		case had && !has:
			parts = append(parts, fmt.Sprintf("%s is gone, and was %s", path, old))
		}
	}
	if len(parts) == 0 {
		return text(is) // such as a list of one word in place of the word
	}
	return strings.Join(parts, "; ")
}

// fieldsOf are the values in a definition, each by its path.
func fieldsOf(v any) map[string]string {
	dec := json.NewDecoder(bytes.NewReader([]byte(text(v))))
	dec.UseNumber()
	var doc any
	if err := dec.Decode(&doc); err != nil {
		return map[string]string{"": strconv.Quote(text(v))}
	}
	fields := map[string]string{}
	flatten(fields, "", doc)
	return fields
}

func flatten(fields map[string]string, path string, v any) {
	at := func(key string) string {
		if path == "" {
			return key
		}
		return path + "." + key
	}
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			flatten(fields, at(word(key)), value)
		}
		if len(v) == 0 && path != "" {
			fields[path] = "anything"
		}
	case []any:
		if words, ok := wordsOf(v); ok {
			fields[path] = words
			return
		}
		for i, value := range v {
			flatten(fields, at(strconv.Itoa(i+1)), value)
		}
	default:
		fields[path] = scalar(v)
	}
}

// wordsOf is a list in one line, if it has no lists or objects in it.
func wordsOf(list []any) (string, bool) {
	parts := make([]string, len(list))
	for i, v := range list {
		switch v.(type) {
		case map[string]any, []any:
			return "", false
		}
		parts[i] = scalar(v)
	}
	if len(parts) == 0 {
		return "empty", true
	}
	return strings.Join(parts, ", "), true
}

func scalar(v any) string {
	if s, ok := v.(string); ok {
		return word(s)
	}
	if v == nil {
		return "null"
	}
	return fmt.Sprint(v)
}

// word quotes a text that could pass for something else.
func word(s string) string {
	if plainWord.MatchString(s) && !slices.Contains([]string{"true", "false", "null", "empty", "anything"}, s) {
		return s
	}
	return strconv.Quote(s)
}
