import { isDeepStrictEqual } from "node:util";
import { isObject, type Params } from "../../protocol/params.ts";
import { ensure, need, show } from "../outcome.ts";
import { check, clientRule, rule, section, untried } from "../rule.ts";
import type { ServerUnderTest } from "../server-under-test.ts";

const INPUTS = ["the harbour wall", "bread rises slowly", "the harbour wall"];
const INVALID_PARAMS = -32602;
const OPTION_UNSUPPORTED = -32005;

const vectorsOf = (result: Params): readonly unknown[] => (Array.isArray(result.vectors) ? result.vectors : []);

async function embed(server: ServerUnderTest, params: Params): Promise<Params> {
  await server.capability("embed");
  return (await server.shared()).result("embed", params);
}

/** RCP §7.3.1: little-endian binary32, base64 with padding. @returns undefined when it is no such text */
function decodeVector(text: unknown, dimension: number): readonly number[] | undefined {
  if (typeof text !== "string" || !/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text))
    return undefined;
  const bytes = Buffer.from(text, "base64");
  if (bytes.length !== dimension * 4) return undefined;
  return Array.from({ length: dimension }, (_, index) => bytes.readFloatLE(index * 4));
}

async function encodings(server: ServerUnderTest): Promise<readonly unknown[]> {
  const { encodings: advertised } = await server.capability("embed");
  return Array.isArray(advertised) ? advertised : ["json"];
}

export const embedSection = section(
  "7.3",
  "embed",
  [
    clientRule("batch-limit", "SHOULD", "respect embed.batchLimit"),
    rule("one-each", "MUST", "return one vector for each input, in order"),
    rule("texts", "MUST", "take texts as another name for inputs"),
    rule("echo-encoding", "MUST", "say which encoding it used (§7.3.1)"),
    rule("no-unasked-encoding", "MUST NOT", "use an encoding that was not asked for (§7.3.1)"),
    rule("binary-dimension", "MUST", "send dimension, and exactly 4 bytes for each of it, with f32-base64 (§7.3.1)"),
    untried("reject-length", "MUST", "refuse a blob of another length (§7.3.1)", "no method of a server takes vectors"),
    rule("unadvertised-encoding", "MUST", "refuse an encoding that is not advertised with -32005 (§7.3.1)"),
  ],
  [
    check(
      "one-each",
      "each input has a vector of the advertised dimension, and equal inputs have equal vectors",
      async (server) => {
        const { dimension } = await server.capability("embed");
        const vectors = vectorsOf(await embed(server, { inputs: INPUTS }));
        ensure(vectors.length === INPUTS.length, `${INPUTS.length} inputs gave ${vectors.length} vectors`);
        for (const vector of vectors)
          ensure(
            Array.isArray(vector) && (dimension === undefined || vector.length === dimension),
            `a vector is not a list of ${show(dimension)} numbers`,
          );
        ensure(
          isDeepStrictEqual(vectors[0], vectors[2]) && !isDeepStrictEqual(vectors[0], vectors[1]),
          "vectors do not stand where their inputs stood",
        );
      },
    ),
    check("texts", "texts gives what inputs gives", async (server) => {
      const byInputs = await embed(server, { inputs: INPUTS });
      const byTexts = await embed(server, { texts: INPUTS });
      ensure(isDeepStrictEqual(vectorsOf(byTexts), vectorsOf(byInputs)), "texts and inputs gave different vectors");
    }),
    check("one-each", "kind query and document are both taken; another is refused", async (server) => {
      for (const kind of ["query", "document"]) await embed(server, { inputs: INPUTS, kind });
      const client = await server.shared();
      await client.refusal("embed", { inputs: INPUTS, kind: "Query" }, INVALID_PARAMS, OPTION_UNSUPPORTED);
    }),
    check("one-each", "inputs that are missing, no list, or hold a number are refused with -32602", async (server) => {
      await server.capability("embed");
      const client = await server.shared();
      for (const params of [{}, { inputs: "x" }, { inputs: [5] }, { inputs: [null] }])
        await client.refusal("embed", params, INVALID_PARAMS);
    }),
    check("no-unasked-encoding", "without an encoding, and with json, vectors are lists of numbers", async (server) => {
      for (const params of [{ inputs: INPUTS }, { inputs: INPUTS, encoding: "json" }]) {
        const result = await embed(server, params);
        ensure((result.encoding ?? "json") === "json", `the encoding was ${show(result.encoding)}`);
        ensure(vectorsOf(result).every(Array.isArray), "a vector is no list");
      }
    }),
    check(
      "echo-encoding binary-dimension",
      "f32-base64 is said, has its dimension, and holds the numbers of json bit by bit",
      async (server) => {
        need((await encodings(server)).includes("f32-base64"), "f32-base64 is not advertised");
        const result = await embed(server, { inputs: INPUTS, encoding: "f32-base64" });
        ensure(
          result.encoding === "f32-base64",
          `f32-base64 was asked for, and the result says ${show(result.encoding)}`,
        );
        const numbers = vectorsOf(await embed(server, { inputs: INPUTS }));
        ensure(
          vectorsOf(result).length === INPUTS.length,
          `${INPUTS.length} inputs gave ${vectorsOf(result).length} vectors`,
        );
        for (const [index, encoded] of vectorsOf(result).entries()) {
          const decoded = decodeVector(encoded, Number(result.dimension));
          ensure(decoded !== undefined, `vector ${index} is not base64 of ${show(result.dimension)} × 4 bytes`);
          const vector = numbers[index];
          const expected = Array.isArray(vector) ? vector.map((number) => Math.fround(Number(number))) : [];
          ensure(
            isDeepStrictEqual(decoded, expected),
            `vector ${index} holds other numbers in f32-base64 than in json`,
          );
        }
      },
    ),
    check("unadvertised-encoding", "an encoding that is not advertised is refused with -32005", async (server) => {
      const advertised = await encodings(server);
      const client = await server.shared();
      const other = advertised.includes("f32-base64") ? ["F32-BASE64", "f16-base64"] : ["f32-base64"];
      for (const encoding of other) {
        const { data } = await client.refusal(
          "embed",
          { inputs: INPUTS, encoding },
          OPTION_UNSUPPORTED,
          ...(encoding === "f32-base64" ? [] : [INVALID_PARAMS]),
        );
        ensure(data.option === undefined || typeof data.option === "string", "error.data.option must be a string");
      }
    }),
  ],
);

export const otherEmbeddings = section(
  "7.4",
  "embed/sparse and embed/multi",
  [
    rule("sparse", "MUST", "return one sparse vector for each text"),
    rule("similarity", "SHOULD", "advertise multiVector.similarity (§7.5)"),
    rule("multi", "MUST", "return one matrix for each input (§7.5)"),
  ],
  [
    check("sparse", "each text has indices and as many values", async (server) => {
      await server.capability("sparseEmbed");
      const { sparse } = await (await server.shared()).result("embed/sparse", { texts: INPUTS });
      const vectors = Array.isArray(sparse) ? sparse.filter(isObject) : [];
      ensure(vectors.length === INPUTS.length, `${INPUTS.length} texts gave ${vectors.length} sparse vectors`);
      for (const { indices, values } of vectors)
        ensure(
          Array.isArray(indices) && Array.isArray(values) && indices.length === values.length,
          "indices and values differ in length",
        );
    }),
    check("similarity", "multiVector says its similarity", async (server) => {
      const { similarity } = await server.capability("multiVector");
      ensure(similarity !== undefined, "multiVector.similarity should be advertised");
    }),
    check("multi", "each input has a matrix whose rows have the dimension", async (server) => {
      await server.capability("multiVector");
      const { matrices, dimension } = await (await server.shared()).result("embed/multi", { inputs: INPUTS });
      const all = Array.isArray(matrices) ? matrices : [];
      ensure(all.length === INPUTS.length, `${INPUTS.length} inputs gave ${all.length} matrices`);
      const rows = all.flat();
      ensure(
        rows.every((row) => Array.isArray(row) && (dimension === undefined || row.length === dimension)),
        `a row has not the dimension ${show(dimension)}`,
      );
    }),
  ],
);
