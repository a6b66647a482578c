package redact

import (
	"regexp"
	"slices"
	"strings"
)

// A rule finds one kind of secret.
type rule struct {
	byName bool     // it goes by a name, not by the value's shape
	needs  []string // the text holds one of these, or find finds nothing; none: always look
	find   func(string) []span
}

// apply returns what the rule finds in s.
func (r rule) apply(s string) []span {
	if len(r.needs) > 0 && !slices.ContainsFunc(r.needs, func(part string) bool { return strings.Contains(s, part) }) {
		return nil
	}
	return r.find(s)
}

// A shape is how a well-known secret looks: what it begins with, as its issuer
// chose so that it can be found, and what follows.
type shape struct {
	begins []string
	rest   string // a regular expression
}

func shapes() []shape {
	return []shape{
		{[]string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, `[A-Za-z0-9]{20,255}`},                            // GitHub
		{[]string{"github_pat_"}, `[A-Za-z0-9_]{22,255}`},                                                    // GitHub, fine-grained
		{[]string{"glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "gloas-"}, `[A-Za-z0-9_.-]{20,}`}, // GitLab
		{[]string{"AKIA", "ASIA", "ABIA", "ACCA"}, `[A-Z0-9]{16}\b`},                                         // AWS key id
		{[]string{"xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-"}, `[A-Za-z0-9-]{10,}`},       // Slack
		{[]string{"xapp-"}, `[0-9]-[A-Za-z0-9-]{10,}`},                                                       // Slack app
		{[]string{"hooks.slack.com/services/"}, `[A-Za-z0-9/]{20,}`},                                         // Slack webhook
		{[]string{"sk_live_", "sk_test_", "rk_live_", "rk_test_"}, `[A-Za-z0-9]{16,}`},                       // Stripe
		{[]string{"sk-"}, `[A-Za-z0-9_-]{20,}`},                                                              // OpenAI, Anthropic
		{[]string{"AIza"}, `[A-Za-z0-9_-]{35}`},                                                              // Google API
		{[]string{"ya29."}, `[A-Za-z0-9_-]{20,}`},                                                            // Google OAuth
		{[]string{"GOCSPX-"}, `[A-Za-z0-9_-]{20,}`},                                                          // Google OAuth client
		{[]string{"npm_"}, `[A-Za-z0-9]{30,}`},                                                               // npm
		{[]string{"pypi-"}, `[A-Za-z0-9_-]{40,}`},                                                            // PyPI
		{[]string{"SG."}, `[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`},                                          // SendGrid
		{[]string{"hf_"}, `[A-Za-z0-9]{30,}`},                                                                // Hugging Face
		{[]string{"dop_v1_"}, `[a-f0-9]{64}`},                                                                // DigitalOcean
		{[]string{"shpat_", "shpca_", "shppa_", "shpss_"}, `[a-fA-F0-9]{32}`},                                // Shopify
		{[]string{"ATATT3"}, `[A-Za-z0-9_=-]{20,}`},                                                          // Atlassian
		{[]string{"dbc_"}, `[A-Za-z0-9_-]{43}`},                                                              // our own client tokens
		{[]string{"AGE-SECRET-KEY-1"}, `[A-Z0-9]{20,}`},                                                      // age
		{[]string{"eyJ"}, `[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`},                         // JSON Web Token
		{[]string{"Bearer", "bearer", "BEARER"}, `[ +]+[A-Za-z0-9._~+/=-]{8,}`},                              // in any header
		{[]string{"-----BEGIN "}, `(?s:[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z))`},
	}
}

// newRules compiles the rules.
func newRules() []rule {
	var rules []rule
	for _, s := range shapes() {
		quoted := make([]string, len(s.begins))
		for i, b := range s.begins {
			quoted[i] = regexp.QuoteMeta(b)
		}
		re := regexp.MustCompile(`(?:\A|[^A-Za-z0-9])((?:` + strings.Join(quoted, "|") + `)` + s.rest + `)`)
		rules = append(rules, rule{needs: s.begins, find: func(text string) []span { return groups(re, text) }})
	}
	userinfo := regexp.MustCompile(`\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s/?#@"'<>:]*:([^\s/?#"'<>]*)@`)
	rules = append(rules, rule{needs: []string{"@"}, find: func(s string) []span { return groups(userinfo, s) }})
	return append(rules, nameRules()...)
}
