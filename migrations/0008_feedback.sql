-- What callers say of the hits they were given (RCP §7.16). Advice to whoever runs the server: nothing here reads it for an answer.

set local role pgrcp_owner;

create table pgrcp_state.feedback (
  tenant_id           text collate "C" not null check (tenant_id <> ''),
  call_id             uuid not null,
  place               integer not null,        -- of the signal in its call
  corpus              text not null,
  issuer              text not null,
  subject             text not null,
  client              text not null,
  session_hash        bytea,                   -- sha256 of the corpus and the caller's sessionId, as in trajectories
  query               text,                    -- of the call's first signal, and only where the configuration says so
  hit_id              text collate "C" not null,
  used                boolean,
  cited               boolean,
  helpful             boolean,
  reward              float8 check (reward between -1 and 1),
  poison_suspected    boolean,
  injection_suspected boolean,
  received_at         timestamptz not null default now(),
  expires_at          timestamptz not null,
  primary key (tenant_id, call_id, place)
);

create index feedback_expiry on pgrcp_state.feedback (tenant_id, expires_at) include (issuer, subject);

select pgrcp_admin.protect_tenant_table('pgrcp_state.feedback', '{pgrcp_state}');

-- What was said is not taken back before its time.
create policy feedback_expired_only on pgrcp_state.feedback as restrictive for delete to pgrcp_state using (expires_at <= now());

-- What was said is not for the server to read: it counts what there is, of a tenant and of a caller, and deletes what has expired.
grant select (tenant_id, issuer, subject, expires_at), insert, delete on pgrcp_state.feedback to pgrcp_state;
grant select, insert, update, delete on pgrcp_state.feedback to pgrcp_operator;
