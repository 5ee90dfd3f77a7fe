import { MIMEType } from "node:util";

const TEXT_TYPES = ["text/plain", "text/markdown", "text/html"] as const;
/** The media types that a body by reference may have. */
export type TextType = (typeof TEXT_TYPES)[number];

/** The text type that a media type names, in UTF-8 (of which ASCII is a part) or without a charset; undefined for any other. */
export function parseTextType(value: string): TextType | undefined {
  let type: MIMEType;
  try {
    type = new MIMEType(value);
  } catch {
    return undefined;
  }
  const charset = type.params.get("charset")?.toLowerCase() ?? "utf-8";
  if (charset !== "utf-8" && charset !== "utf8" && charset !== "us-ascii") return undefined;
  return TEXT_TYPES.find((one) => one === type.essence);
}
