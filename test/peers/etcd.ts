import { join } from 'node:path';
import { request } from 'undici';
import { findPeer, missingPeers } from './find-peer.ts';
import { awaitPeerReady, freePort, type PeerProcess, startPeerProcess } from './peer-process.ts';
import { respondsOk } from './responds-ok.ts';

/** Where an etcd listens and keeps its data: the same again makes it the same etcd again. */
export interface EtcdSettings {
  /** `http://host:port` for clients. */
  readonly url: string;
  readonly peerUrl: string;
  /** It makes its data folder in here. */
  readonly folder: string;
}

const patienceSeconds = 60;

/** A place with ports that were free a moment ago. */
export async function chooseEtcdSettings(host: string, folder: string): Promise<EtcdSettings> {
  const url = `http://${host}:${await freePort(host)}`;
  return { url, peerUrl: `http://${host}:${await freePort(host)}`, folder };
}

/** Starts etcd with one member, in plain HTTP and with no regard for power cuts. Resolves when it is healthy. */
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

/** Makes it forget every version of every object but the newest. It serves its calls as JSON too; int64 values are strings there. */
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
