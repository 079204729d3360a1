import type { Clock } from '../../lib/clock.ts';
import { ProviderError } from '../../lib/errors.ts';
import { withSilenceLimit } from '../../lib/silence-limit.ts';
import { openTalosClient, type TalosClient } from '../client/client.ts';
import type { KeyPair } from '../secrets/certificates.ts';
import { type SecretsBundle, trustedCertificates } from '../secrets/secrets-bundle.ts';
import { issueTalosClientCertificate } from '../secrets/talosconfig.ts';
import { chooseMember, type MemberAnswer } from './choose-member.ts';
import { SnapshotError } from './snapshot-error.ts';
import { SnapshotVerifier } from './snapshot-verifier.ts';

/** The cluster whose etcd is read. */
export interface SnapshotSource {
  /** The control planes whose address is known. */
  readonly controlPlanes: readonly { readonly machine: string; readonly address: string }[];
  /** Those whose snapshots have failed since the last one that was whole, the last one at the end. */
  readonly failed?: readonly string[];
  readonly bundle: SecretsBundle;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** A snapshot that was whole. */
export interface SnapshotReport {
  /** The control plane that gave it. */
  readonly machine: string;
  readonly bytes: number;
}

/** A stopped member hangs. */
const statusSeconds = 10;
const certificateSeconds = 3600;
/** etcd's own limit for a database is 8 GiB. */
const maxSnapshotBytes = 10 * 2 ** 30;

/**
 * A node that sends a snapshot reads its disk and nothing else: it never waits for so long. The deadline of the call is for a
 * large database over a slow line.
 */
const silenceSeconds = 60;

/**
 * Streams a snapshot of etcd to `write` and verifies it meanwhile. Throws after the last piece if it was not whole, so that
 * what was written must not be kept: a SnapshotError if the node has failed. Uses a short-lived certificate that allows
 * nothing else.
 */
export async function streamSnapshot(source: SnapshotSource, write: SnapshotWriter): Promise<SnapshotReport> {
  const { controlPlanes, failed, bundle, clock, signal } = source;
  const roles = ['os:etcd:backup', 'os:reader'] as const;
  const validity = { now: clock.now(), lifetimeSeconds: certificateSeconds };
  const pair = await issueTalosClientCertificate(bundle, { ...validity, roles });
  const nodes = openNodes(controlPlanes, trustedCertificates(bundle, 'os'), pair);
  try {
    const answers = await Promise.all([...nodes].map(([machine, node]) => askMember(machine, node, signal)));
    const machine = chooseMember(answers, failed);
    const node = nodes.get(machine);
    if (!node) throw new Error(`${machine} is none of the control planes`);
    return await readSnapshot({ machine, node }, source, write);
  } finally {
    await Promise.all([...nodes.values()].map((node) => node.close()));
  }
}

type SnapshotWriter = (piece: Uint8Array) => Promise<void>;

interface SnapshotMember {
  readonly machine: string;
  readonly node: Pick<TalosClient, 'etcdSnapshot'>;
}

/** Reads the snapshot of one member. */
export async function readSnapshot(
  { machine, node }: SnapshotMember,
  { clock, signal }: Pick<SnapshotSource, 'clock' | 'signal'>,
  write: SnapshotWriter,
): Promise<SnapshotReport> {
  const verifier = new SnapshotVerifier();
  let isTaken = true;
  const take = async (piece: Uint8Array): Promise<void> => {
    verifier.add(piece);
    if (verifier.bytes > maxSnapshotBytes) throw damaged(`it is larger than ${maxSnapshotBytes} bytes`);
    isTaken = false;
    await write(piece);
    isTaken = true;
  };
  const damaged = (problem: string): ProviderError => describeDamage(machine, problem);
  const silent = () => damaged(`nothing of it has arrived for ${silenceSeconds} s`);
  try {
    await withSilenceLimit({ seconds: silenceSeconds, clock, signal, silent }, (watch) =>
      node.etcdSnapshot((piece) => watch.during(() => take(piece)), { signal: watch.signal }),
    );
    const problem = verifier.finish();
    if (problem !== undefined) throw damaged(problem);
    return { machine, bytes: verifier.bytes };
  } catch (error) {
    signal.throwIfAborted();
    // If a piece was not taken, the consumer has failed, and not the node.
    throw isTaken && error instanceof ProviderError ? new SnapshotError(machine, error) : error;
  }
}

function openNodes(
  controlPlanes: SnapshotSource['controlPlanes'],
  ca: string,
  pair: KeyPair,
): ReadonlyMap<string, TalosClient> {
  const credentials = { ca, client: async () => pair };
  return new Map(
    controlPlanes.map(({ machine, address }) => [machine, openTalosClient({ address, credentials })] as const),
  );
}

async function askMember(machine: string, node: TalosClient, signal: AbortSignal): Promise<MemberAnswer> {
  try {
    return { machine, status: await node.etcdStatus({ signal, seconds: statusSeconds }) };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ProviderError)) throw error;
    return { machine, problem: error.message.replace(/\.$/, '') };
  }
}

const describeDamage = (machine: string, problem: string): ProviderError =>
  new ProviderError(
    'TALOS_CALL_FAILED',
    `The snapshot of ${machine} is not kept: ${problem}. Try again; if it stays so, look at the disk of the node.`,
  );
