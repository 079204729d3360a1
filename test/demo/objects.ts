import { readFile } from 'node:fs/promises';
import type { KubeObject } from '../../src/kube/resource.ts';
import type { RoomLine } from '../world/room.ts';
import { network } from './loopback.ts';
import { readObjects } from './session.ts';

const samples = ['truenas.yaml', 'cluster.yaml', 'accessrequest.yaml'].map((name) => `config/samples/${name}`);

interface Lines {
  readonly truenas: RoomLine;
  readonly factory: RoomLine;
  readonly oidc: { readonly issuer: string; readonly ca: string };
}

type Raw = Record<string, Record<string, unknown>>;

/**
 * The objects of `config/samples`, with what differs between their example network and the demo's put in place: where
 * the NAS and the image factory are, authorities and keys, and the addresses. Everything else is as it stands there.
 */
export async function sampleObjects(lines: Lines): Promise<KubeObject[]> {
  const objects = (await Promise.all(samples.map(readObjects))).flat();
  for (const object of objects) {
    if (object.kind === 'ProviderConfig') await adaptConfig((object as KubeObject & { spec: Raw }).spec, lines);
    if (object.kind === 'Secret')
      adaptSecret(object as KubeObject & { stringData?: Record<string, string> }, lines.truenas);
  }
  return objects;
}

async function adaptConfig(spec: Raw, { truenas, factory, oidc }: Lines): Promise<void> {
  Object.assign(spec['talos'] ?? {}, { factoryUrl: factory.url });
  // Before Talos 1.14 nodes get it with their first configuration.
  spec['access'] = { oidcIssuers: [{ issuer: oidc.issuer, caBundle: oidc.ca }] };
  Object.assign(spec['network'] ?? {}, {
    addressPool: [network.pool],
    prefix: network.prefix,
    gateway: network.gateway,
    nameServers: [network.gateway],
  });
  Object.assign(spec['truenas'] ?? {}, {
    url: truenas.url,
    ...(truenas.ca ? { caBundle: await readFile(truenas.ca, 'utf8') } : {}),
  });
}

function adaptSecret(object: KubeObject & { stringData?: Record<string, string> }, line: RoomLine): void {
  const { user = '', apiKey = '' } = line.credentials;
  object.stringData = { username: user, apiKey };
}
