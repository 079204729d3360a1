import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { create, toBinary } from '@bufbuild/protobuf';
import { toAuthority } from '../../../src/lib/net/ip.ts';
import { talosPort } from '../../../src/talos/client/connection.ts';
import { EtcdStatusResponseSchema, ServiceListResponseSchema } from '../../../src/talos/gen/machine_pb.ts';
import { toLoadableKey } from '../../../src/talos/secrets/pem.ts';
import { type SecretsBundle, trustedCertificates } from '../../../src/talos/secrets/secrets-bundle.ts';
import { issueTalosClientCertificate } from '../../../src/talos/secrets/talosconfig.ts';
import { findPeer, missingPeers } from '../../peers/find-peer.ts';
import { awaitPeerReady, type PeerProcess, startPeerProcess } from '../../peers/peer-process.ts';
import { issueServerCertificate } from '../../talos/node-server.ts';

/** A program that answers in place of a node, and the command that reads its snapshot as talosctl does. */
export interface SnapshotNode {
  /** Writes the snapshot to standard output. */
  readonly readCommand: readonly string[];
  stop(): Promise<void>;
}

/**
 * Starts a node in Go, as Talos is: it sends the file as its snapshot, a message of gRPC for each KiB. The port of the node
 * must be free.
 */
export async function startSnapshotNode(
  bundle: SecretsBundle,
  { address, file, folder }: { readonly address: string; readonly file: string; readonly folder: string },
): Promise<SnapshotNode> {
  const path = findPeer('talos-snapshot');
  if (!path) throw new Error(missingPeers('talos-snapshot'));
  const server = await issueServerCertificate(bundle.authorities.os, { ipAddresses: [address] });
  const roles = ['os:etcd:backup'] as const;
  const client = await issueTalosClientCertificate(bundle, { now: new Date(), lifetimeSeconds: 3600, roles });
  const replies = join(folder, 'replies.json');
  await writeFile(replies, JSON.stringify(renderReplies()));
  const ca = join(folder, 'talos-ca.pem');
  await writeFile(ca, trustedCertificates(bundle, 'os'));
  const flagsOf = async (name: string, pair: typeof server) => {
    const [cert, key] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)];
    await writeFile(cert, pair.certificate);
    await writeFile(key, toLoadableKey(pair.key).reveal(), { mode: 0o600 });
    return ['-address', toAuthority(address, talosPort), '-ca', ca, '-cert', cert, '-key', key];
  };
  const args = ['serve', ...(await flagsOf('node', server)), '-content', file, '-replies', replies];
  const program: PeerProcess = startPeerProcess({ path, args, folder });
  await awaitPeerReady('talos-snapshot', program, 30, async () => program.tail().includes('listening'));
  return { readCommand: [path, 'read', ...(await flagsOf('client', client))], stop: () => program.stop() };
}

/** What the provider asks before it reads a snapshot: a member that runs and leads. */
function renderReplies(): Record<string, string> {
  const services = create(ServiceListResponseSchema, { messages: [{ services: [{ id: 'etcd', state: 'Running' }] }] });
  const status = create(EtcdStatusResponseSchema, { messages: [{ memberStatus: { memberId: 1n, leader: 1n } }] });
  const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
  return {
    '/machine.MachineService/ServiceList': base64(toBinary(ServiceListResponseSchema, services)),
    '/machine.MachineService/EtcdStatus': base64(toBinary(EtcdStatusResponseSchema, status)),
  };
}
