package release

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// The deepest nesting of a manifest, schemas included.
const maxYAMLDepth = 64

// A yamlDoc is a YAML document on its way to JSON.
type yamlDoc struct {
	json   bytes.Buffer
	lines  map[string]int // by path
	number *regexp.Regexp // JSON's syntax
}

// YAMLToJSON converts the part of YAML that has one meaning in JSON, and refuses
// the rest. Lines tells where each path stands.
func yamlToJSON(text []byte) (doc []byte, lines map[string]int, err error) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var root yaml.Node
	if err := dec.Decode(&root); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil, errors.New("the document is empty")
		}
		return nil, nil, err
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, nil, errors.New("more than one document")
	}
	d := &yamlDoc{lines: map[string]int{}, number: regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)}
	if root.Kind != yaml.DocumentNode || len(root.Content) != 1 {
		return nil, nil, errors.New("not a document with one value")
	}
	if err := d.node(root.Content[0], "$", 0); err != nil {
		return nil, nil, err
	}
	return d.json.Bytes(), d.lines, nil
}

func (d *yamlDoc) node(n *yaml.Node, path string, depth int) error {
	switch {
	case depth > maxYAMLDepth:
		return yamlError(n, path, "nested deeper than %d", maxYAMLDepth)
	case n.Kind == yaml.AliasNode:
		return yamlError(n, path, "alias %q: aliases are not accepted", shorten(n.Value))
	case n.Anchor != "":
		return yamlError(n, path, "anchor %q: anchors are not accepted", shorten(n.Anchor))
	case n.Style&yaml.TaggedStyle != 0:
		return yamlError(n, path, "tag %q: tags are not accepted", shorten(n.Tag))
	}
	if _, ok := d.lines[path]; !ok {
		d.lines[path] = n.Line
	}
	switch n.Kind {
	case yaml.MappingNode:
		return d.mapping(n, path, depth)
	case yaml.SequenceNode:
		return d.sequence(n, path, depth)
	case yaml.ScalarNode:
		return d.scalar(n, path)
	case yaml.DocumentNode, yaml.AliasNode:
	}
	return yamlError(n, path, "not a value")
}

func (d *yamlDoc) mapping(n *yaml.Node, path string, depth int) error {
	seen := make(map[string]bool, len(n.Content)/2)
	d.json.WriteByte('{')
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" || key.Anchor != "" || key.Style&yaml.TaggedStyle != 0 {
			return yamlError(key, path, "key %q is not a plain string", shorten(key.Value))
		}
		if seen[key.Value] {
			return yamlError(key, path, "key %q stands there twice", shorten(key.Value))
		}
		seen[key.Value] = true
		if i > 0 {
			d.json.WriteByte(',')
		}
		if err := d.string(key.Value); err != nil {
			return err
		}
		d.json.WriteByte(':')
		child := path + "." + key.Value
		d.lines[child] = key.Line
		if err := d.node(n.Content[i+1], child, depth+1); err != nil {
			return err
		}
	}
	d.json.WriteByte('}')
	return nil
}

func (d *yamlDoc) sequence(n *yaml.Node, path string, depth int) error {
	d.json.WriteByte('[')
	for i, item := range n.Content {
		if i > 0 {
			d.json.WriteByte(',')
		}
		if err := d.node(item, path+"["+strconv.Itoa(i)+"]", depth+1); err != nil {
			return err
		}
	}
	d.json.WriteByte(']')
	return nil
}

// Scalar writes a value that YAML and JSON read alike. YAML's own spellings of
// numbers and dates are refused, because an author rarely means them.
func (d *yamlDoc) scalar(n *yaml.Node, path string) error {
	switch tag := n.ShortTag(); tag {
	case "!!str":
		return d.string(n.Value)
	case "!!bool":
		if n.Value != "true" && n.Value != "false" {
			return yamlError(n, path, "%q: write true or false", n.Value)
		}
		d.json.WriteString(n.Value)
	case "!!int", "!!float":
		if !d.number.MatchString(n.Value) {
			return yamlError(n, path, "%q is a number in YAML and not in JSON; put it in quotes if it is text", shorten(n.Value))
		}
		d.json.WriteString(n.Value)
	case "!!null":
		return yamlError(n, path, `no value; for the text "null" put it in quotes`)
	default:
		return yamlError(n, path, "%q has the YAML type %s; put it in quotes", shorten(n.Value), tag)
	}
	return nil
}

func (d *yamlDoc) string(s string) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	d.json.Write(b)
	return nil
}

func yamlError(n *yaml.Node, path, format string, args ...any) error {
	return Problem{Path: path, Line: n.Line, Msg: fmt.Sprintf(format, args...)}
}

// Error makes a Problem usable as an error of its own.
func (p Problem) Error() string { return p.String() }
