import { createSign, generateKeyPairSync, randomBytes } from "node:crypto";

/**
 * A certificate for 127.0.0.1, or for a client there, that signs itself, valid from yesterday to tomorrow: Node can read
 * certificates and not make them, and neither a tool that may be missing nor a key that everybody knows is needed for 300 bytes of DER.
 *
 * @see RFC 5280 §4.1
 */
export function selfSigned(commonName = "localhost"): { readonly cert: string; readonly key: string } {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const der = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
    const content = Buffer.concat(parts);
    const { length } = content;
    const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
    return Buffer.concat([Buffer.of(tag, ...size), content]);
  };
  const sequence = (...parts: readonly Uint8Array[]) => der(0x30, ...parts);
  const oid = (hex: string) => der(0x06, Buffer.from(hex, "hex"));
  const day = (offset: number) => {
    const date = new Date(Date.now() + offset * 86_400_000);
    return der(0x17, Buffer.from(`${date.toISOString().slice(2, 19).replaceAll(/[-T:]/g, "")}Z`));
  };
  const ecdsaWithSha256 = sequence(oid("2a8648ce3d040302"));
  const name = sequence(der(0x31, sequence(oid("550403"), der(0x0c, Buffer.from(commonName)))));
  const isAuthority = sequence(
    oid("551d13"),
    der(0x01, Buffer.of(0xff)),
    der(0x04, sequence(der(0x01, Buffer.of(0xff)))),
  );
  const alsoCalled = sequence(oid("551d11"), der(0x04, sequence(der(0x87, Buffer.of(127, 0, 0, 1)))));
  const signed = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.concat([Buffer.of(1), randomBytes(8)])),
    ecdsaWithSha256,
    name,
    sequence(day(-1), day(1)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(isAuthority, alsoCalled)),
  );
  const signature = createSign("sha256").update(signed).sign(privateKey);
  const whole = sequence(signed, ecdsaWithSha256, der(0x03, Buffer.of(0), signature));
  const lines = whole.toString("base64").match(/.{1,64}/g) ?? [];
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}
