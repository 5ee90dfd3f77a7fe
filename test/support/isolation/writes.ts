import type { Call } from "./call.ts";
import { reading, unexpectedError } from "./call.ts";
import type { State } from "./corpus-model.ts";
import { documentOf } from "./sent-documents.ts";
import type { Place, Tenant } from "./world.ts";

/** Upserts variants of documents. */
export function addCall(tenant: Tenant, place: Place, changes: ReadonlyMap<string, number>, kind = "index/add"): Call {
  const model = tenant.models[place];
  const documents = [...changes].map(([id, variant]) => documentOf(model.owner, id, variant));
  return {
    kind,
    method: "index/add",
    credential: "add",
    params: { documents },
    begin() {
      const ticket = model.begin(changes);
      return {
        answered(response) {
          const { result } = response;
          if (result === undefined) {
            ticket.refused();
            return unexpectedError(response);
          }
          ticket.applied();
          model.versionsMade += 1;
          const problems: string[] = [];
          if (JSON.stringify(result.ids) !== JSON.stringify([...changes.keys()]))
            problems.push("foreign id: not the ids that were sent");
          const version = result._meta?.indexVersion;
          if (typeof version !== "string" || model.versions.has(version))
            problems.push("foreign id: no version of its own");
          else model.versions.set(version, changes);
          if (Number(result.chunks) < changes.size) problems.push("wrong count: fewer chunks than documents");
          return problems;
        },
        refused: ticket.refused,
        lost() {
          ticket.lost();
          model.versionsDoubtful += 1;
        },
      };
    },
  };
}

/** Upserts under a key that is this tenant's first use of it, and that the other tenants use as well. */
export function keyedAddCall(tenant: Tenant, place: Place, changes: ReadonlyMap<string, number>): Call {
  const call = addCall(tenant, place, changes, "keyed add");
  tenant.lastKey += 1;
  const params = { ...call.params, _meta: { idempotencyKey: `key-${tenant.lastKey}` } };
  return {
    ...call,
    params,
    begin() {
      const pending = call.begin();
      return {
        ...pending,
        async answered(response) {
          const problems = await pending.answered(response);
          if (response.error?.code === -32016) return ["foreign access: a key that another tenant has used"];
          if (response.result !== undefined)
            tenant.keyed.push({ place, params, result: JSON.stringify(response.result) });
          return problems;
        },
      };
    },
  };
}

/** Sends a keyed write again: the answer is the first one, and nothing is written. */
export const keyedRepeatCall = ({ params, result }: Tenant["keyed"][number]): Call => ({
  kind: "keyed repeat",
  method: "index/add",
  credential: "add",
  params,
  begin: () =>
    reading((response) => {
      if (response.result === undefined) return unexpectedError(response);
      return JSON.stringify(response.result) === result ? [] : ["foreign id: another answer than the first"];
    }),
});

/** Deletes ids, the tenant's own or not. */
export function deleteCall(tenant: Tenant, place: Place, ids: readonly string[], kind = "index/delete"): Call {
  const model = tenant.models[place];
  return {
    kind,
    method: "index/delete",
    credential: "delete",
    params: { ids },
    begin() {
      const ticket = model.begin(new Map<string, State>(ids.map((id) => [id, null])));
      return {
        answered(response) {
          const { result } = response;
          if (result === undefined) {
            ticket.refused();
            return unexpectedError(response);
          }
          const [least, most] = ticket.live();
          ticket.applied();
          const deleted = Number(result.deleted);
          if (deleted > 0) model.versionsMade += 1;
          return deleted >= least && deleted <= most
            ? []
            : [`foreign count: ${deleted} deleted where ${least} to ${most} of this tenant's can have been there`];
        },
        refused: ticket.refused,
        lost() {
          ticket.lost();
          model.versionsDoubtful += 1;
        },
      };
    },
  };
}
