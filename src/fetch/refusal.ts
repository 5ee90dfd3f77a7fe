/** How far a fetch came. The last five are for the server's own log: a caller must not learn what an address answered. */
export type FetchStage =
  | "form"
  | "scheme"
  | "userinfo"
  | "port"
  | "host"
  | "ip-literal"
  | "allowlist"
  | "dns"
  | "address"
  | "redirect"
  | "connect"
  | "response"
  | "file";

/** One answer for all that happens once the uri has been read, whatever it was. */
const NOT_FETCHED =
  "could not be fetched: it must answer in time with 200 and UTF-8 text of its mimeType, within fetch.maxBytes, " +
  "limits.maxTextBytes and fetch.maxRedirects, from public addresses only";

/** What would be right. None says more than the uri and the configuration do. */
const DETAILS = {
  form: "must be an absolute URL of at most 2048 visible ASCII characters, without backslashes",
  scheme: "its scheme must be one of fetch.schemes",
  userinfo: "must not hold a user name or a password",
  port: "its port must be one of fetch.ports",
  host: "its host must be a public DNS name, spelled as it is, or stand in fetch.allowedHosts",
  "ip-literal": "its host must be a name, or an address that stands in fetch.allowedHosts",
  allowlist: "its host must be in fetch.allowedHosts",
  dns: NOT_FETCHED,
  address: NOT_FETCHED,
  redirect: NOT_FETCHED,
  connect: NOT_FETCHED,
  response: NOT_FETCHED,
  file: NOT_FETCHED,
} as const satisfies Record<FetchStage, string>;

/** A body that is not fetched. `message` is for the caller, and the same whatever an address answered. */
export class FetchRefusal extends Error {
  override readonly name = "FetchRefusal";
  readonly stage: FetchStage;

  constructor(stage: FetchStage, options?: ErrorOptions) {
    super(DETAILS[stage], options);
    this.stage = stage;
  }
}
