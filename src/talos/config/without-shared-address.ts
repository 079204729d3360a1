import { isMap, isSeq, type YAMLMap } from 'yaml';
import type { Secret } from '../../lib/secret.ts';
import { isMainDocument, readDocuments, writeDocuments } from './edit.ts';

const interfacesPath = ['machine', 'network', 'interfaces'];

/**
 * The configuration of a running control plane with nothing changed but that it does not hold the address any more that the
 * control planes hand around. Undefined when it does not hold it anyway.
 */
export function withoutSharedAddress(config: Secret, address: string): Secret | undefined {
  const documents = readDocuments(config);
  const interfaces = documents.find(isMainDocument)?.getIn(interfacesPath);
  const links = mapsIn(interfaces);
  const holders = [...links, ...links.flatMap((link) => mapsIn(link.get('vlans')))].filter(
    (link) => link.getIn(['vip', 'ip']) === address,
  );
  for (const link of holders) link.delete('vip');
  return holders.length > 0 ? writeDocuments(documents) : undefined;
}

const mapsIn = (list: unknown): YAMLMap[] => (isSeq(list) ? list.items.filter((item) => isMap(item)) : []);
