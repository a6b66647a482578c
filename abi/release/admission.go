package release

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
)

// The limits of a tool's schema.
const (
	maxSchemaJSONDepth = 96     // arrays and objects inside one another
	maxSchemaDepth     = 32     // subschemas inside one another, references followed
	maxSubschemas      = 500    // as written
	maxExpanded        = 10_000 // with every reference replaced by what it refers to
	maxEnum            = 500    // values of one enum
	maxPattern         = 512    // bytes of one regular expression
	maxProgram         = 1000   // instructions of one regular expression
	maxPrograms        = 10_000 // of all of them
	maxPropertyName    = 64     // bytes
	maxSafeInteger     = 1<<53 - 1
)

// A keyword is one of the closed set that an admitted schema may use. All others
// are refused: $id, $anchor, $dynamicRef and their like change what a reference
// means, unevaluated* costs without bound, x-* is read by clients in ways that we
// do not know.
type keyword struct {
	subschemas shape
	check      func(v any) string // what is wrong with the value, or ""
}

// A shape says how subschemas stand in a keyword's value.
type shape int

const (
	noSchema shape = iota
	oneSchema
	listOfSchemas
	mapOfSchemas
)

func keywords() map[string]keyword {
	return map[string]keyword{
		"$schema":    {check: isDraft},
		"$ref":       {check: isLocalRef},
		"$defs":      {subschemas: mapOfSchemas},
		"$comment":   {check: isText},
		"title":      {check: isText},
		"type":       {check: isType},
		"format":     {check: isText},
		"deprecated": {}, "readOnly": {}, "writeOnly": {},
		"description": {check: isText},
		"default":     {}, "examples": {},
		"enum":  {check: isEnum},
		"const": {check: isScalar},

		"properties":           {subschemas: mapOfSchemas},
		"patternProperties":    {subschemas: mapOfSchemas, check: arePatterns},
		"additionalProperties": {subschemas: oneSchema},
		"propertyNames":        {subschemas: oneSchema},
		"required":             {}, "dependentRequired": {}, "minProperties": {check: isNumber}, "maxProperties": {check: isNumber},

		"items":       {subschemas: oneSchema},
		"prefixItems": {subschemas: listOfSchemas},
		"contains":    {subschemas: oneSchema},
		"minContains": {check: isNumber}, "maxContains": {check: isNumber}, "minItems": {check: isNumber}, "maxItems": {check: isNumber},
		"uniqueItems": {},

		"pattern":   {check: isPattern},
		"minLength": {check: isNumber}, "maxLength": {check: isNumber},
		"minimum": {check: isNumber}, "maximum": {check: isNumber}, "exclusiveMinimum": {check: isNumber}, "exclusiveMaximum": {check: isNumber},
		"multipleOf": {check: isNumber},

		"allOf": {subschemas: listOfSchemas}, "anyOf": {subschemas: listOfSchemas}, "oneOf": {subschemas: listOfSchemas},
		"not": {subschemas: oneSchema}, "if": {subschemas: oneSchema}, "then": {subschemas: oneSchema}, "else": {subschemas: oneSchema},
		"dependentSchemas": {subschemas: mapOfSchemas},
	}
}

// An admission is one look at one schema.
type admission struct {
	keywords   map[string]keyword
	defs       map[string]any
	written    int              // subschemas, as written
	program    int              // instructions of all patterns
	nodes      map[string]*node // of $defs, those that are being made as nil
	properties map[string][]string
}

// Admit checks a schema as written, then counts what evaluating it may cost.
func admit(doc any) (*admission, *node, *Problem) {
	root, ok := doc.(map[string]any)
	if !ok {
		return nil, nil, &Problem{Path: "$", Msg: "not an object"}
	}
	if root["type"] != "object" {
		return nil, nil, &Problem{Path: "$.type", Msg: `has to be "object"`}
	}
	a := &admission{keywords: keywords(), nodes: map[string]*node{}, properties: map[string][]string{}}
	a.defs, _ = root["$defs"].(map[string]any)
	if p := a.walk(doc, "$", 0); p != nil {
		return nil, nil, p
	}
	if p := texts(doc, "$", false); p != nil {
		return nil, nil, p
	}
	n, p := a.node(root, "$")
	if p != nil {
		return nil, nil, p
	}
	a.rootProperties(root)
	return a, n, nil
}

// Walk walks one subschema as it is written, without following references.
func (a *admission) walk(v any, path string, depth int) *Problem {
	if _, ok := v.(bool); ok {
		return nil
	}
	s, ok := v.(map[string]any)
	if !ok {
		return &Problem{Path: path, Msg: "not a schema"}
	}
	if a.written++; a.written > maxSubschemas {
		return &Problem{Path: path, Msg: fmt.Sprintf("more than %d subschemas", maxSubschemas)}
	}
	if depth > maxSchemaDepth {
		return &Problem{Path: path, Msg: fmt.Sprintf("subschemas nested deeper than %d", maxSchemaDepth)}
	}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		at := path + "." + name
		k, ok := a.keywords[name]
		if !ok {
			return &Problem{Path: path, Msg: fmt.Sprintf("the keyword %q is not accepted", shorten(name))}
		}
		if k.check != nil {
			if fault := k.check(s[name]); fault != "" {
				return &Problem{Path: at, Msg: fault}
			}
		}
		if p := eachSubschema(k.subschemas, s[name], at, func(sub any, at string) *Problem {
			return a.walk(sub, at, depth+1)
		}); p != nil {
			return p
		}
	}
	return nil
}

// EachSubschema calls f in a fixed order.
func eachSubschema(sh shape, v any, path string, f func(sub any, path string) *Problem) *Problem {
	switch sh {
	case noSchema:
	case oneSchema:
		return f(v, path)
	case listOfSchemas:
		list, ok := v.([]any)
		if !ok {
			return &Problem{Path: path, Msg: "not a list of schemas"}
		}
		for i, sub := range list {
			if p := f(sub, path+"["+strconv.Itoa(i)+"]"); p != nil {
				return p
			}
		}
	case mapOfSchemas:
		m, ok := v.(map[string]any)
		if !ok {
			return &Problem{Path: path, Msg: "not an object of schemas"}
		}
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if name == "" || len(name) > maxPattern {
				return &Problem{Path: path, Msg: fmt.Sprintf("%q is not a name", shorten(name))}
			}
			if p := f(m[name], path+"."+name); p != nil {
				return p
			}
		}
	}
	return nil
}

func (a *admission) rootProperties(root map[string]any) {
	props, _ := root["properties"].(map[string]any)
	for name, v := range props {
		s, _ := v.(map[string]any)
		if ref, ok := s["$ref"].(string); ok {
			s, _ = a.defs[defName(ref)].(map[string]any)
		}
		a.properties[name] = typesOf(s["type"])
	}
}

func typesOf(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var types []string
		for _, t := range v {
			types = append(types, fmt.Sprint(t))
		}
		return types
	}
	return nil
}

// Texts holds every key, string and number in the schema against the rules for
// text: clients hand all of it to models.
func texts(v any, path string, expression bool) *Problem {
	switch v := v.(type) {
	case string:
		fault := hiddenText(v)
		if fault == "" && !expression {
			fault = cmp.Or(instruction(v), markup(v))
		}
		if fault != "" {
			return &Problem{Path: path, Msg: fault}
		}
	case json.Number:
		if fault := isNumber(v); fault != "" {
			return &Problem{Path: path, Msg: fault}
		}
	case []any:
		for i, item := range v {
			if p := texts(item, path+"["+strconv.Itoa(i)+"]", expression); p != nil {
				return p
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if fault := keyFault(key); fault != "" {
				return &Problem{Path: path, Msg: fmt.Sprintf("the key %q %s", shorten(key), fault)}
			}
			if p := texts(v[key], path+"."+key, isExpression(key)); p != nil {
				return p
			}
		}
	}
	return nil
}

func isExpression(key string) bool { return key == "pattern" || key == "$ref" }

func keyFault(key string) string {
	switch {
	case len(key) > maxPropertyName:
		return fmt.Sprintf("is longer than %d bytes", maxPropertyName)
	case strings.ContainsAny(key, "\n\t"):
		return "holds a line break or tab"
	case hiddenText(key) != "":
		return hiddenText(key)
	}
	return markup(key)
}

// The checks of keywords' values.

func isDraft(v any) string {
	if v != "https://json-schema.org/draft/2020-12/schema" {
		return "only draft 2020-12 is accepted"
	}
	return ""
}

func isLocalRef(v any) string {
	ref, _ := v.(string)
	if !regexp.MustCompile(`^#/\$defs/[A-Za-z0-9_-]{1,64}$`).MatchString(ref) {
		return fmt.Sprintf("%q: a reference has the form #/$defs/name", shorten(fmt.Sprint(v)))
	}
	return ""
}

func isText(v any) string {
	s, ok := v.(string)
	switch {
	case !ok:
		return "not a string"
	case len(s) > maxDescription:
		return fmt.Sprintf("longer than %d bytes", maxDescription)
	}
	return ""
}

func isType(v any) string {
	known := []string{"array", "boolean", "integer", "null", "number", "object", "string"}
	types := typesOf(v)
	if len(types) == 0 || len(types) > len(known) {
		return "not a type"
	}
	for _, t := range types {
		if !slices.Contains(known, t) {
			return fmt.Sprintf("%q is not a type", shorten(t))
		}
	}
	return ""
}

func isEnum(v any) string {
	list, ok := v.([]any)
	if !ok || len(list) == 0 || len(list) > maxEnum {
		return fmt.Sprintf("not a list of 1 to %d values", maxEnum)
	}
	for _, item := range list {
		if fault := isScalar(item); fault != "" {
			return fault
		}
	}
	return ""
}

func isScalar(v any) string {
	switch v := v.(type) {
	case []any, map[string]any:
		return "only strings, numbers, booleans and null are compared"
	case json.Number:
		return isNumber(v)
	}
	return ""
}

// IsNumber accepts what the canonical form keeps as it is.
func isNumber(v any) string {
	n, ok := v.(json.Number)
	if !ok {
		return "not a number"
	}
	if i, err := strconv.ParseInt(n.String(), 10, 64); err == nil && (i > maxSafeInteger || i < -maxSafeInteger) {
		return fmt.Sprintf("the number %q is out of range", n)
	}
	if !ordinary(n) {
		return fmt.Sprintf("the number %q is out of range", shorten(n.String()))
	}
	return ""
}

// Ordinary accepts numbers that a double holds well enough for every reader to
// see the same one, and that cost nothing as a fraction: 1e-999999 is a short
// text and a long number.
func ordinary(n json.Number) bool {
	f, err := n.Float64()
	if err != nil || len(n) > 64 {
		return false
	}
	mantissa, _, _ := strings.Cut(strings.ToLower(n.String()), "e")
	if f == 0 {
		return !strings.ContainsAny(mantissa, "123456789")
	}
	return math.Abs(f) > 1e-300
}

// IsPattern accepts what RE2 accepts: it has no backtracking. What a counted
// repetition expands to is what it costs, in memory and for each byte matched.
func isPattern(v any) string {
	s, ok := v.(string)
	if !ok || len(s) > maxPattern {
		return fmt.Sprintf("not a regular expression of at most %d bytes", maxPattern)
	}
	n, err := programSize(s)
	switch {
	case err != nil:
		return fmt.Sprintf("%q is not a regular expression of RE2: %v", shorten(s), err)
	case n > maxProgram:
		return fmt.Sprintf("the regular expression %q is too large with its repetitions written out", shorten(s))
	}
	return ""
}

func programSize(pattern string) (int, error) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, err
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return 0, err
	}
	return len(prog.Inst), nil
}

func arePatterns(v any) string {
	m, _ := v.(map[string]any)
	for _, pattern := range slices.Sorted(maps.Keys(m)) {
		if fault := isPattern(pattern); fault != "" {
			return fault
		}
	}
	return ""
}
