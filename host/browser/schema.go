package browser

import "github.com/drawbridge-mcp/drawbridge/abi"

// tableBudget is what of an answer's bytes a table may take; the rest is for
// what stands around it.
const tableBudget = abi.MaxAnswer - 4<<10

// maxNesting bounds tables within tables.
const maxNesting = 4

// A schema is an [abi.Extraction] with its defaults filled in, as the helper
// takes it.
type schema struct {
	Within []string `json:"within,omitempty"`
	Rows   string   `json:"rows,omitempty"`
	Cols   []column `json:"cols"`
	Limit  int      `json:"limit"`
	Empty  string   `json:"empty,omitempty"`
	Next   string   `json:"next,omitempty"`
}

type column struct {
	Name     string      `json:"name"`
	Selector string      `json:"selector,omitempty"`
	Kind     abi.ColKind `json:"kind"`
	Attr     string      `json:"attr,omitempty"`
	Type     abi.ColType `json:"type"`
	List     bool        `json:"list,omitempty"`
	Optional bool        `json:"optional,omitempty"`
	Nested   *schema     `json:"nested,omitempty"`
}

// compile checks an extraction and fills in its defaults.
func compile(e *abi.Extraction) (*schema, error) { return compileAt(e, 0) }

func compileAt(e *abi.Extraction, depth int) (*schema, error) {
	if depth > maxNesting {
		return nil, abi.Errorf(abi.ErrInvalidArgs, "extract", "more than %d tables within one another", maxNesting)
	}
	if len(e.Cols) == 0 {
		return nil, abi.Errorf(abi.ErrInvalidArgs, "extract", "a schema without columns")
	}
	s := &schema{Within: e.Within, Rows: e.Rows, Limit: e.Limit, Empty: e.Empty}
	if s.Limit <= 0 || s.Limit > abi.MaxRows {
		s.Limit = abi.MaxRows
	}
	if e.Next != nil {
		s.Next = e.Next.Selector
	}
	for i := range e.Cols {
		c, err := compileColumn(&e.Cols[i], depth)
		if err != nil {
			return nil, err
		}
		s.Cols = append(s.Cols, c)
	}
	return s, nil
}

func compileColumn(c *abi.Col, depth int) (column, error) {
	out := column{
		Name: c.Name, Selector: c.Selector, Kind: c.Kind, Attr: c.Attr, Type: c.Type, List: c.List, Optional: c.Optional,
	}
	if out.Kind == "" {
		out.Kind = abi.KindText
	}
	if out.Type == "" {
		out.Type = abi.TypeString
	}
	bad := func(why string) (column, error) {
		return out, abi.Errorf(abi.ErrInvalidArgs, "extract", "column %q: %s", c.Name, why)
	}
	switch out.Kind {
	case abi.KindText, abi.KindRaw, abi.KindLines, abi.KindPre, abi.KindValue, abi.KindOwnText, abi.KindURL:
	case abi.KindExists:
		out.Type = abi.TypeBool
		if c.List {
			return bad("a list of kind exists")
		}
	case abi.KindAttr:
		if c.Attr == "" {
			return bad("kind attr without an attribute")
		}
	case abi.KindNested:
		if c.Nested == nil {
			return bad("kind nested without a schema")
		}
		var err error
		out.Nested, err = compileAt(c.Nested, depth+1)
		return out, err
	default:
		return bad("unknown kind " + string(out.Kind))
	}
	switch out.Type {
	case abi.TypeString, abi.TypeInt, abi.TypeNumber:
	case abi.TypeBool:
		if out.Kind != abi.KindExists {
			return bad("type bool is for kind exists")
		}
	default:
		return bad("unknown type " + string(out.Type))
	}
	return out, nil
}
