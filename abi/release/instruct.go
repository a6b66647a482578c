package release

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// A definition's text says what a tool does. Text that gives orders to the model
// that reads it has no place there, and what an order looks like can be guessed
// only roughly: so what can hardly mean anything else is refused, and what might
// be one is pointed out to the person who decides. Neither is what keeps a model
// that obeys from doing harm; the lists and the gate are. RATIONALE.md has numbers.

// An order is one way to give a model orders, as words: lower case, one space
// between them, no punctuation.
type order struct {
	what string
	re   *regexp.Regexp
}

// Fragments of the expressions below. Every gap between words is bounded.
const (
	someWords  = `(?: [^ ]+){0,4}`
	oldOnes    = ` (?:previous|previously|prior|above|earlier|preceding|foregoing|former|past|initial|original|system|your|my|our|these|those|any|all|every|other|existing|current)`
	orderWords = ` (?:instructions?|instruct\w+|directives?|directions?|prompts?|guidelines?|guardrails?|commands?|orders|programming|messages?|context|text|requests?)`
	forgetting = `\b(?:ignore|ignoring|disregard|disregarding|forget|forgetting|neglect|unlearn)`
	personWord = `(?:user|users|human|humans|person|operator|owner|anyone|anybody|them)`
)

// refusedOrders can hardly be part of what a tool does.
var refusedOrders = orders(
	"orders to forget other instructions", forgetting+someWords+oldOnes+`(?: [^ ]+){0,2}`+orderWords+`\b`,
	"orders to forget other instructions", forgetting+` (?:the )?instructions(?: [^ ]+){0,4} (?:above|before|earlier|given|received|got)\b`,
	"orders to forget other instructions", forgetting+` (?:everything|anything|all|what)(?: [^ ]+){0,3} (?:above|before|told|said|learned|instructed|previously)\b`,
	"orders to forget other instructions", `\b(?:ignore|disregard|forget)(?: [^ ]+){1,4} and(?: then| instead)? (?:say|state|print|output|reply|respond|answer|write|declare|admit|claim)\b`,
	"orders to forget other instructions", `\b(?:forget|ignore|disregard)(?: about)?(?: all)?(?: of)? (?:the|those|these|your|any) (?:rules|restrictions|limitations|policies)\b`,
	"orders to forget other instructions", `\b(?:ignoriere|vergiss|ignorez|oubliez|ignora|olvida|ignore|esqueca|dimentica|negeer)`+someWords+` (?:anweisungen|instruktionen|instructions|instrucciones|instrucoes|istruzioni|instructies|consignes)\b`,
	"orders to forget other instructions", `忽略(?:之前|以前|上面|所有|先前).{0,8}(?:指令|指示|说明)|(?:игнорируй|забудь)(?:те)?`+someWords+` (?:инструкции|указания)|(?:以前|これまで|上記)の(?:指示|命令)を(?:無視|忘れ)`,
	"orders to keep something from the user", `\b(?:do not|don t|dont|never|must not|should not|avoid|without)(?: [^ ]+){0,2} (?:tell|telling|mention|mentioning|inform|informing|alert|alerting|reveal|revealing|disclose|disclosing|admit)(?: [^ ]+){0,6} (?:the |this to |that to |it to )?`+personWord+`\b`,
	"orders to reach for what is none of its business", `\b(?:read|send|include|pass|copy|append|attach|upload|forward|post|put|print|repeat|reveal|output|share|reply with|respond with)(?: [^ ]+){0,6} (?:system prompt|your (?:prompt|instructions)|initial instructions|conversation history|chat history|whole conversation|entire conversation|full conversation|ssh keys?|id (?:rsa|ed25519)|mcp json|env file|dotenv)\b`,
	"orders about other tools", `\b(?:before|after|instead of|whenever)(?: you)? (?:using|calling|running|invoking|use|call|run|invoke)(?: [^ ]+){0,2} (?:any|every|all|each)(?: other| of the other)? tools?\b`,
	"poses as a higher authority", `\b(?:new|updated|real|actual|hidden|secret|override|overriding|urgent) (?:system )?(?:instructions?|directives?|prompt|orders) (?:for|to) (?:the )?(?:ai|assistant|model|agent|llm|you)\b`,
	"poses as a higher authority", `\b(?:begin|end|start|im start|im end|inst|sys) (?:of )?(?:system|system prompt|system message|instructions?|user input|prompt)\b`,
)

// doubtfulOrders are found in honest texts too.
var doubtfulOrders = orders(
	"speaks to the model", `\b(?:you (?:are|re) now|from now on|pretend (?:to be|that you|you)|act as (?:if|a|an|the)|you (?:must|have to|should|shall|need to)(?: [^ ]+){0,2} (?:always|never|first|only|ignore|call|use|run|send|include|obey|follow))\b`,
	"speaks of a model's instructions", `\b(?:system|developer|hidden|initial|original) (?:prompt|message|instructions?)\b|\b(?:jailbreak|jailbroken|(?:developer|system|god|dan|override|maintenance|unrestricted) mode|guardrails?|prompt injection|llm|ai (?:assistant|model|agent)|language model|as an ai|assistant (?:must|should|has to|will))\b`,
	"says what goes before other rules", `\b(?:override|overrides|overriding|bypass|bypasses|bypassing|circumvent|supersede|supersedes|discard|disable|disables|skip|skips|do not follow|don t follow|do not obey|stop following)(?: [^ ]+){0,4} (?:instructions?|rules|policy|policies|guidelines?|safety|security|restrictions?|filters?|confirmation|confirmations|approval|limits?|constraints?)\b`,
	"says what to call first or always", `\b(?:always|must|first)(?: [^ ]+){0,2} (?:call|use|run|invoke)(?: [^ ]+){0,2} (?:this|it|first|before|tool)\b|\bthis tool(?: [^ ]+){0,2} (?:first|before any|before every|instead of)\b`,
	"says what not to show or ask", `\b(?:do not|don t|never|without)(?: [^ ]+){0,2} (?:show|showing|notify|notifying|ask|asking|warn|warning|confirm|confirming|telling|display|displaying|question)(?: [^ ]+){0,5} (?:`+personWord+`|confirmation|permission|approval)\b`,
	"speaks of secrets", `\b(?:password|passwords|passphrase|api keys?|private keys?|access tokens?|session tokens?|credentials?|secrets?|credit card)\b`,
	"spells letters apart", `(?:\b[a-z] ){8,}`,
	"raises its voice", `\b(?:important|urgent|critical|attention|warning) (?:instructions?|notice to|message (?:to|for)|for (?:the )?(?:ai|assistant|model|agent|llm))\b`,
)

func orders(pairs ...string) (list []order) {
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, order{pairs[i], regexp.MustCompile(fold(pairs[i+1]))})
	}
	return list
}

// instruction says which order s holds that a definition may not, or "".
func instruction(s string) string {
	if what, words := findOrder(refusedOrders, s); what != "" {
		return what + " (" + words + "); say what it does, not what its reader is to do"
	}
	return ""
}

// doubt says what in s a person ought to read with care, or "".
func doubt(s string) string {
	if what, words := findOrder(doubtfulOrders, s); what != "" {
		return what + " (" + words + ")"
	}
	if blob := encoded.FindString(s); blob != "" {
		return "holds something encoded (" + shorten(blob) + ")"
	}
	return ""
}

// encoded is a run that is none of a human language: base64, hexadecimal.
var encoded = regexp.MustCompile(`[A-Za-z0-9+/=_-]{48,}`)

func findOrder(list []order, s string) (what, words string) {
	text := plainWords(s)
	for _, o := range list {
		if at := o.re.FindString(text); at != "" {
			return o.what, shorten(strings.TrimSpace(at))
		}
	}
	return "", ""
}

// plainWords is s in the spelling that the expressions are written for: one space
// between words, without accents, case and punctuation, and with Latin letters in
// place of those of other scripts that look the same.
func plainWords(s string) string {
	return strings.Join(strings.FieldsFunc(fold(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), " ")
}

// fold is s in lower case, decomposed, without marks, and with look-alikes of
// Latin letters replaced.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		r = unicode.ToLower(r)
		if i := strings.IndexRune(lookalikes, r); i >= 0 {
			return rune(latin[len([]rune(lookalikes[:i]))])
		}
		return r
	}, norm.NFKD.String(s))
}

// Letters that look like Latin ones, and the ones that they look like.
const (
	lookalikes = "аеорсухіјѕԁһԛԝкмтвнгαεορνικτυχıɡߋ"
	latin      = "aeopcyxijsdhqwkmtbhraeopviktuxigo"
)
