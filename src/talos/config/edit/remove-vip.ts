import { isMap, isSeq, type YAMLMap } from 'yaml';
import type { SecretString } from '../../../lib/secret-string.ts';
import { formatConfigYaml, isMainYamlDocument, parseConfigYaml } from './config-yaml.ts';

const interfacesPath = ['machine', 'network', 'interfaces'];

/**
 * The configuration of a running control plane without the shared virtual address, and otherwise unchanged. Returns
 * undefined when the configuration does not have the address.
 */
export function removeVip(config: SecretString, address: string): SecretString | undefined {
  const documents = parseConfigYaml(config);
  const interfaces = documents.find(isMainYamlDocument)?.getIn(interfacesPath);
  const links = mapsIn(interfaces);
  const holders = [...links, ...links.flatMap((link) => mapsIn(link.get('vlans')))].filter(
    (link) => link.getIn(['vip', 'ip']) === address,
  );
  for (const link of holders) link.delete('vip');
  return holders.length > 0 ? formatConfigYaml(documents) : undefined;
}

const mapsIn = (list: unknown): YAMLMap[] => (isSeq(list) ? list.items.filter((item) => isMap(item)) : []);
