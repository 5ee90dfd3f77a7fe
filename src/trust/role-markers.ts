/** Marks by which chat formats tell a model who speaks. Repeats are bounded in all patterns. */
const CHAT_MARKS = [
  /<\|(?:im_start|im_end|im_sep|system|user|assistant|endoftext|end|start_header_id|end_header_id|eot_id|begin_of_text|endofprompt)\|>/i,
  /\[\/?INST\]|<<\/?SYS>>|<(?:start|end)_of_turn>/,
  /<\/?(?:system|assistant)[_-](?:prompt|message|reminder|instructions?)>/i,
  // A heading of a prompt template, such as "### Instruction:". The plural heads many a manual.
  /^[ \t]{0,3}#{2,4}[ \t]{0,2}(?:instruction|system|system prompt|assistant|response)[ \t]{0,2}:/im,
  // A role between fences, such as "---SYSTEM---".
  /^[ \t]{0,3}([#=*~-]{2,12})[ \t]{0,3}(?:begin |end |end_|new )?(?:system|system prompt|system message|assistant)[ \t]{0,3}\1[ \t]{0,3}$/im,
];
const MODEL_TURN = /^[ \t]{0,3}(?:assistant|ai|chatgpt)[ \t]{0,2}:/im;
const USER_TURN = /^[ \t]{0,3}(?:user|human)[ \t]{0,2}:/im;

/** Whether a text poses as a conversation with a model, or as its system prompt. */
export const hasRoleMarkers = (text: string): boolean =>
  CHAT_MARKS.some((mark) => mark.test(text)) || (MODEL_TURN.test(text) && USER_TURN.test(text));
