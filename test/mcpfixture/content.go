package mcpfixture

import (
	"strings"

	"github.com/drawbridge-mcp/drawbridge/host/mcpserver"
)

type object = map[string]any

// The smallest PNG (one pixel) and WAV (no sample), in base64.
const (
	pixel   = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
	silence = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
)

func text(s string) object   { return object{"type": "text", "text": s} }
func image() object          { return object{"type": "image", "data": pixel, "mimeType": "image/png"} }
func said(s string) object   { return result(text(s)) }
func inMessage(c any) object { return object{"role": "user", "content": c} }

func embedded(uri, kind, words string) object {
	return object{"type": "resource", "resource": object{"uri": uri, "mimeType": kind, "text": words}}
}

func result(content ...any) object { return object{"content": content} }

// content is the result of a tool whose content is no text of a connector's.
func content(name string) object {
	switch name {
	case "test_image_content", "fixture_image", "fixture.image":
		return result(image())
	case "test_audio_content":
		return result(object{"type": "audio", "data": silence, "mimeType": "audio/wav"})
	case "test_embedded_resource":
		return result(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content."))
	case "test_multiple_content_types":
		return result(text("Multiple content types test:"), image(),
			embedded("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`))
	}
	return nil
}

// promptSuite is a prompt that is more than text; nil for the others.
func promptSuite(x *mcpserver.Exchange) (object, error) {
	messages := func(content ...any) object {
		var list []any
		for _, c := range content {
			list = append(list, inMessage(c))
		}
		return object{"description": "Suite.", "messages": list}
	}
	switch param(x, "name") {
	case promptImage:
		return messages(image(), text("Please analyze the image above.")), nil
	case promptResource:
		return messages(embedded(argument(x, "resourceUri"), "text/plain", "Embedded resource content for testing."),
			text("Please process the embedded resource above.")), nil
	case promptInput:
		if context := answer(x, "user_context", "context"); context != "" {
			return messages(text("Context: " + context)), nil
		}
		return required("", object{"user_context": form("What context should the prompt use?", "context")}), nil
	}
	return nil, nil
}

// readSuite is a resource of the suite's; nil for the others.
func readSuite(uri string) object {
	one := func(kind, member, data string) object {
		return object{"contents": []any{object{"uri": uri, "mimeType": kind, member: data}}, "ttlMs": 0, "cacheScope": "private"}
	}
	switch uri {
	case "test://static-text", "test://watched-resource":
		return one("text/plain", "text", "This is the content of the static text resource.")
	case "test://static-binary":
		return one("image/png", "blob", pixel)
	}
	id, ok := strings.CutPrefix(uri, "test://template/")
	if id, isData := strings.CutSuffix(id, "/data"); ok && isData {
		return one("application/json", "text", `{"id":"`+id+`","templateTest":true,"data":"Data for ID: `+id+`"}`)
	}
	return nil
}
