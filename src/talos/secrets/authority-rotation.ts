import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { ProviderError } from '../../lib/errors.ts';
import { SecretString } from '../../lib/secret-string.ts';
import type { KeyPair } from './certificates.ts';
import { fromBase64, isMatchingPair, toBase64 } from './pem.ts';
import type { RotatableAuthority, SecretsBundle } from './secrets-bundle.ts';

/**
 * The phases of a rotation, as `talosctl rotate-ca` has them (`pkg/rotate/pki` of Talos). `accept`: every node accepts the
 * new authority, and the former one issues. `issue`: the new one issues, and the former one is accepted. `remove`: the
 * former one is not accepted any more. A phase begins when every node has the one before.
 */
export const rotationPhases = ['accept', 'issue', 'remove'] as const;
export type RotationPhase = (typeof rotationPhases)[number];

/** The rotation of one authority of a cluster. The bundle beside it has the authority that issues in this phase. */
export interface AuthorityRotation {
  readonly authority: RotatableAuthority;
  readonly phase: RotationPhase;
  /** In the phase `accept` the new authority, later the former one. */
  readonly other: KeyPair;
  /** ISO 8601. */
  readonly startedAt: string;
}

/** A bundle, and the rotation of one of its authorities if there is one. */
export interface RotationState {
  readonly bundle: SecretsBundle;
  readonly rotation: AuthorityRotation | undefined;
}

/** The bundle as nodes and clients use it in this phase. */
export function withRotation(bundle: SecretsBundle, rotation: AuthorityRotation | undefined): SecretsBundle {
  if (!rotation || rotation.phase === 'remove') return bundle;
  return { ...bundle, accepted: { [rotation.authority]: [rotation.other.certificate] } };
}

/** The state after the phase that every node has. */
export function advanceRotation(
  { accepted: _, ...bundle }: SecretsBundle,
  { other, ...rotation }: AuthorityRotation,
): RotationState {
  const { authority, phase } = rotation;
  if (phase === 'remove') return { bundle, rotation: undefined };
  if (phase === 'issue') return { bundle, rotation: { ...rotation, phase: 'remove', other } };
  const { [authority]: former } = bundle.authorities;
  return {
    bundle: { ...bundle, authorities: { ...bundle.authorities, [authority]: other } },
    rotation: { ...rotation, phase: 'issue', other: former },
  };
}

/**
 * The bundle with which a client proves that a server has this phase: its certificate is from the new authority, and as soon
 * as that issues, no other one is trusted.
 */
export function verificationBundle(bundle: SecretsBundle, rotation: AuthorityRotation): SecretsBundle {
  const { accepted: _, ...issuing } = bundle;
  return rotation.phase === 'accept' ? withOtherAuthority(issuing, rotation) : issuing;
}

/** The bundle of a client of the former authority that trusts the new one: refused at the end. */
export const formerBundle = ({ accepted: _, ...bundle }: SecretsBundle, rotation: AuthorityRotation): SecretsBundle =>
  withOtherAuthority(bundle, rotation);

function withOtherAuthority(bundle: SecretsBundle, { authority, other }: AuthorityRotation): SecretsBundle {
  const { [authority]: issuing } = bundle.authorities;
  return {
    ...bundle,
    authorities: { ...bundle.authorities, [authority]: other },
    accepted: { [authority]: [issuing.certificate] },
  };
}

const RotationFile = z.object({
  authority: z.enum(['os', 'kubernetes']),
  phase: z.enum(rotationPhases),
  startedAt: z.iso.datetime(),
  crt: z.string().max(65_536),
  key: z.string().max(65_536),
});

/** The rotation as YAML. It contains a private key. */
export function formatRotation({ authority, phase, startedAt, other }: AuthorityRotation): SecretString {
  const pair = { crt: toBase64(other.certificate), key: toBase64(other.key.reveal()) };
  return new SecretString(stringify({ authority, phase, startedAt, ...pair }, { lineWidth: 0 }));
}

/** Reads the text of {@link formatRotation}. Throws TALOS_SECRETS_INVALID, never with a value. */
export function parseRotation(text: SecretString): AuthorityRotation {
  const { success, data } = RotationFile.safeParse(parseYaml(text));
  const [certificate, key] = [fromBase64(data?.crt ?? ''), fromBase64(data?.key ?? '')];
  if (!success || certificate === undefined || key === undefined) throw invalid('is not complete');
  const other = { certificate, key: new SecretString(key) };
  if (!isMatchingPair(other)) throw invalid('has no certificate, or the key of another certificate');
  const { authority, phase, startedAt } = data;
  return { authority, phase, startedAt, other };
}

function parseYaml(text: SecretString): unknown {
  try {
    return parse(text.reveal());
  } catch {
    // The message of the parser quotes a line.
    return undefined;
  }
}

const invalid = (what: string): ProviderError =>
  new ProviderError('TALOS_SECRETS_INVALID', `The rotation of a certificate authority ${what}.`);
