package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/origin"
	"github.com/drawbridge-mcp/drawbridge/abi/strictjson"
)

// A body is what a request carries, read in one encoding; names are unique.
type body struct {
	pairs []origin.Pair
	err   error
}

// body reads the request's body in an encoding, once.
func (r *seen) body(enc abi.Encoding) body {
	b, ok := r.bodies[enc]
	if !ok {
		b.pairs, b.err = decodeBody(enc, r.ContentType, r.Body)
		r.bodies[enc] = b
	}
	return b
}

// decodeBody reads a body whose size was checked.
func decodeBody(enc abi.Encoding, contentType string, data []byte) ([]origin.Pair, error) {
	if enc == abi.EncodingNone {
		if len(data) > 0 {
			return nil, errors.New("it has a body")
		}
		return nil, nil
	}
	want := map[abi.Encoding]string{
		abi.EncodingURLEncoded: "application/x-www-form-urlencoded",
		abi.EncodingMultipart:  "multipart/form-data",
		abi.EncodingJSON:       "application/json",
	}[enc]
	boundary, err := checkContentType(contentType, want)
	if err != nil {
		return nil, err
	}
	switch enc {
	case abi.EncodingURLEncoded:
		return origin.ParseQuery(string(data))
	case abi.EncodingMultipart:
		return parseMultipart(data, boundary)
	case abi.EncodingJSON:
		return flattenJSON(data)
	case abi.EncodingNone: // above
	}
	return nil, fmt.Errorf("unknown encoding %q", enc)
}

// checkContentType asks for the one media type, with the boundary that multipart
// needs and otherwise with nothing but UTF-8 as charset.
func checkContentType(got, want string) (boundary string, err error) {
	mediaType, params, err := mime.ParseMediaType(got)
	if err != nil || mediaType != want {
		return "", fmt.Errorf("its content type is %q, not %s", shorten(got), want)
	}
	for name, v := range params {
		switch {
		case name == "charset" && strings.EqualFold(v, "utf-8") && want != "multipart/form-data":
		case name == "boundary" && want == "multipart/form-data":
			boundary = v
		default:
			return "", fmt.Errorf("its content type has the parameter %q", shorten(name))
		}
	}
	if want == "multipart/form-data" && !isBoundary(boundary) {
		return "", errors.New("its content type has no proper boundary")
	}
	return boundary, nil
}

// flattenJSON reads an object of objects and scalars into names joined by dots.
func flattenJSON(data []byte) ([]origin.Pair, error) {
	err := strictjson.Check(data, strictjson.MaxBytes(abi.MaxBody), strictjson.AnyText())
	if err != nil {
		return nil, fmt.Errorf("its JSON: %w", err)
	}
	var pairs []origin.Pair
	return pairs, flatten("", data, &pairs)
}

func flatten(prefix string, data json.RawMessage, pairs *[]origin.Pair) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil || object == nil {
		return errors.New("its JSON is not an object")
	}
	if len(object) == 0 && prefix != "" {
		return fmt.Errorf("the member %q is an empty object", shorten(prefix))
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		v := object[name]
		if name == "" || strings.Contains(name, ".") {
			return fmt.Errorf("the member name %q is empty or has a dot", shorten(name))
		}
		name = prefix + name
		text, scalar, err := scalarText(v)
		switch {
		case err != nil:
			return err
		case scalar:
			*pairs = append(*pairs, origin.Pair{Name: name, Value: text})
		case v[0] == '{':
			if err := flatten(name+".", v, pairs); err != nil {
				return err
			}
		default:
			return fmt.Errorf("the member %q is an array or null", shorten(name))
		}
		if len(*pairs) > origin.MaxPairs {
			return fmt.Errorf("more than %d members", origin.MaxPairs)
		}
	}
	return nil
}
