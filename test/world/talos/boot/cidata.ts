import { isMap, parseDocument } from 'yaml';
import { fieldAt, fieldsAt, listAt, textAt } from '../config/fields.ts';
import type { InterfaceView } from '../config/links.ts';
import type { IsoDisc } from './iso9660.ts';

/** The content that the nocloud platform reads from its volume (talos: platform/nocloud). */
export interface CloudData {
  /** The machine configuration, or undefined without one: then maintenance mode follows. */
  readonly userData: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  readonly links: readonly InterfaceView[];
}

/** The volume has invalid content: the node loops in its acquisition. */
export class CloudDataError extends Error {
  override readonly name = 'CloudDataError';
}

export const isCloudData = (disc: IsoDisc): boolean => disc.label === 'cidata' || disc.label === 'CIDATA';

/** Reads the three files. Throws a {@link CloudDataError} with the reason. */
export function parseCloudData(disc: IsoDisc): CloudData {
  const metadata = yamlFile(disc, 'meta-data');
  const network = yamlFile(disc, 'network-config');
  const text = disc.files.get('user-data')?.toString('utf8');
  const isForOthers = text?.trimStart().startsWith('#cloud-config') || text?.trim() === '';
  return {
    userData: isForOthers ? undefined : text,
    metadata: Object.fromEntries(
      Object.keys(fieldsAt({ metadata }, 'metadata')).map((key) => [key, textAt(metadata, key)]),
    ),
    links: readLinks(fieldAt(network, 'network') ?? network),
  };
}

function yamlFile(disc: IsoDisc, name: string): unknown {
  const bytes = disc.files.get(name);
  if (!bytes || bytes.length === 0) return {};
  const document = parseDocument(bytes.toString('utf8'));
  const problem = document.errors[0];
  if (problem) throw new CloudDataError(`failed to unmarshal ${name}: yaml: ${problem.message.split('\n')[0]}`);
  if (document.contents !== null && !isMap(document.contents)) {
    throw new CloudDataError(`failed to unmarshal ${name}: yaml: expected a map`);
  }
  return document.toJS() ?? {};
}

function readLinks(network: unknown): InterfaceView[] {
  const version = fieldAt(network, 'version');
  if (version === undefined) return [];
  if (version === 2)
    return Object.entries(fieldsAt(network, 'ethernets')).map(([name, item]) => readEthernet(name, item));
  throw new CloudDataError(`network-config metadata version=${String(version)} is not supported`);
}

function readEthernet(name: string, item: unknown): InterfaceView {
  const mac = textAt(item, 'match.macaddress').toLowerCase();
  return {
    ...(mac ? { mac } : { name }),
    addresses: listAt(item, 'addresses').map((address) => (typeof address === 'string' ? address : '')),
    dhcp: fieldAt(item, 'dhcp4') === true,
  };
}
