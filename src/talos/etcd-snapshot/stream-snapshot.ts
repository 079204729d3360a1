import { ProviderError } from '../../lib/errors.ts';
import { openTalosClient, type TalosClient } from '../client/client.ts';
import type { KeyPair } from '../secrets/certificates.ts';
import { type SecretsBundle, trustedCertificates } from '../secrets/secrets-bundle.ts';
import { issueTalosClientCertificate } from '../secrets/talosconfig.ts';
import { chooseMember, type MemberAnswer } from './choose-member.ts';
import { SnapshotVerifier } from './snapshot-verifier.ts';

/** The cluster whose etcd is read. */
export interface SnapshotSource {
  /** The control planes whose address is known. */
  readonly controlPlanes: readonly { readonly machine: string; readonly address: string }[];
  readonly bundle: SecretsBundle;
  readonly now: Date;
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
 * Streams a snapshot of etcd to `write` and verifies it meanwhile. Throws after the last piece if it was not whole, so that
 * what was written must not be kept. Uses a short-lived certificate that allows nothing else.
 */
export async function streamSnapshot(
  { controlPlanes, bundle, now, signal }: SnapshotSource,
  write: (piece: Uint8Array) => Promise<void>,
): Promise<SnapshotReport> {
  const roles = ['os:etcd:backup', 'os:reader'] as const;
  const pair = await issueTalosClientCertificate(bundle, { now, lifetimeSeconds: certificateSeconds, roles });
  const nodes = openNodes(controlPlanes, trustedCertificates(bundle, 'os'), pair);
  try {
    const answers = await Promise.all([...nodes].map(([machine, node]) => askMember(machine, node, signal)));
    const machine = chooseMember(answers);
    const verifier = new SnapshotVerifier();
    await nodes.get(machine)?.etcdSnapshot(
      async (piece) => {
        verifier.add(piece);
        if (verifier.bytes > maxSnapshotBytes) throw damaged(machine, `it is larger than ${maxSnapshotBytes} bytes`);
        await write(piece);
      },
      { signal },
    );
    const problem = verifier.finish();
    if (problem !== undefined) throw damaged(machine, problem);
    return { machine, bytes: verifier.bytes };
  } finally {
    await Promise.all([...nodes.values()].map((node) => node.close()));
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

const damaged = (machine: string, problem: string): ProviderError =>
  new ProviderError(
    'TALOS_CALL_FAILED',
    `The snapshot of ${machine} is not kept: ${problem}. Try again; if it stays so, look at the disk of the node.`,
  );
