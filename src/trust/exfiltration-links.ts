/** Names of parameters that what was said would go into. */
const CARRIER =
  "(?:c|d|m|p|q|s|t|x|data|text|msg|message|content|payload|leak|exfil|secret|info|chat|history|conversation|prompt|context|summary|token|key|pwd|password|email|value|log|note|body|query|stolen)";
/** What ends an address that a model is meant to complete: an empty value, or a blank to fill in. */
const TO_FILL = `(?:[?&]${CARRIER}=|=[{<[][^\\s)"'>]{0,60})`;

// Looks back from `](`, so that a text of nothing but openings costs nothing.
const IMAGE = new RegExp(
  `(?<=!\\[[^\\]\\n]{0,200})\\]\\(\\s{0,4}https?://[^\\s)?]{1,300}(?:\\?[^\\s)]{0,300})?${TO_FILL}\\s{0,4}\\)`,
  "i",
);
const HTML_IMAGE = new RegExp(
  `<img\\b[^>]{0,200}\\bsrc\\s{0,3}=\\s{0,3}["']?https?://[^\\s"'>?]{1,300}(?:\\?[^\\s"'>]{0,300})?${TO_FILL}["'\\s>]`,
  "i",
);
/** An order to send what was said to such an address. */
const SEND_TO = new RegExp(
  `\\b(?:send|post|upload|forward|transmit|exfiltrate|submit|append|leak)\\b[^.\\n]{0,40}\\b(?:conversation|chat|history|system prompt|context|secrets?|passwords?|credentials|api keys?|data)\\b[^.\\n]{0,60}\\bhttps?://[^\\s)]{1,300}${TO_FILL}`,
  "i",
);

/** Whether a text holds a link made to carry a conversation away. */
export const hasExfiltrationLink = (text: string): boolean =>
  IMAGE.test(text) || HTML_IMAGE.test(text) || SEND_TO.test(text);
