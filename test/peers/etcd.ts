import { join } from 'node:path';
import { request } from 'undici';
import { findPeer, missingPeers } from './find-peer.ts';
import { awaitPeerReady, freePort, type PeerProcess, startPeerProcess } from './peer-process.ts';
import { respondsOk } from './responds-ok.ts';

/** Addresses and data folder of an etcd: the same settings restart the same etcd. */
export interface EtcdSettings {
  /** `http://host:port` for clients. */
  readonly url: string;
  readonly peerUrl: string;
  /** The parent of its data folder. */
  readonly folder: string;
}

const patienceSeconds = 60;

/** Settings with ports that are currently free. */
export async function chooseEtcdSettings(host: string, folder: string): Promise<EtcdSettings> {
  const url = `http://${host}:${await freePort(host)}`;
  return { url, peerUrl: `http://${host}:${await freePort(host)}`, folder };
}

/** Starts etcd with one member, in plain HTTP and without fsync. Resolves when it is healthy. */
export async function startEtcd({ url, peerUrl, folder }: EtcdSettings): Promise<PeerProcess> {
  const path = findPeer('etcd');
  if (!path) throw new Error(missingPeers('etcd'));
  const args = [
    `--name=tests`,
    `--data-dir=${join(folder, 'etcd')}`,
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=tests=${peerUrl}`,
    '--unsafe-no-fsync',
    '--log-level=warn',
  ];
  const program = startPeerProcess({ path, args, folder });
  try {
    await awaitPeerReady('etcd', program, patienceSeconds, () => respondsOk(`${url}/health`));
    return program;
  } catch (error) {
    await program.stop();
    throw error;
  }
}

/** Compacts all old versions of every object. etcd also accepts its calls as JSON; int64 values are strings there. */
export async function compactEtcd(url: string): Promise<void> {
  const post = async (path: string, body: object) => {
    const response = await request(`${url}${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(10_000),
    });
    const text = await response.body.text();
    if (response.statusCode !== 200) throw new Error(`etcd ${path} answered ${response.statusCode}: ${text}`);
    return JSON.parse(text) as { header?: { revision?: string } };
  };
  const { header } = await post('/v3/kv/range', { key: Buffer.from('/').toString('base64') });
  await post('/v3/kv/compaction', { revision: header?.revision, physical: true });
}

/** A snapshot as etcd streams it: its gateway writes one JSON object for each piece. */
export async function readEtcdSnapshot(url: string): Promise<Buffer[]> {
  const { body } = await request(`${url}/v3/maintenance/snapshot`, {
    method: 'POST',
    body: '{}',
    signal: AbortSignal.timeout(20_000),
  });
  const lines = (await body.text()).trim().split('\n');
  return lines.map((line) => Buffer.from((JSON.parse(line) as { result: { blob: string } }).result.blob, 'base64'));
}
