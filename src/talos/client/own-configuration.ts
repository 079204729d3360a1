import { type Document, isScalar } from 'yaml';
import { ProviderError } from '../../lib/errors.ts';
import { shortHash } from '../../lib/hash.ts';
import { LruMap } from '../../lib/lru-map.ts';
import type { SecretString } from '../../lib/secret-string.ts';
import { isMainYamlDocument, readConfigYaml } from '../config/edit/config-yaml.ts';
import { machineIdAnnotation } from '../config/machine-id-annotation.ts';
import { readMachineConfig } from './api-server-pod.ts';
import type { TalosClient } from './client.ts';
import type { TalosCallOptions } from './connection.ts';

/** The second one identifies the machines of a cluster whose provider ids come from a cloud controller manager. */
const idPaths = [
  ['machine', 'kubelet', 'extraArgs', 'provider-id'],
  ['machine', 'nodeAnnotations', machineIdAnnotation],
];
/** Maximum length of an id in a message. */
const maxIdLength = 200;

/** The machine that is meant, and the configuration that it is to have, if there is one. */
export interface OwnMachine {
  readonly providerId: string;
  readonly configuration?: SecretString;
}

/**
 * The active configuration of a machine. Throws TALOS_FOREIGN_NODE if another machine of the cluster answers: one that was
 * given up and still runs has the address, the name and the certificates of its successor. A configuration without an id
 * was edited by hand, and does not identify its machine.
 */
export async function readOwnConfiguration(
  node: TalosClient,
  { providerId, configuration }: OwnMachine,
  options: TalosCallOptions,
): Promise<SecretString> {
  const config = await readMachineConfig(node, options);
  // Parsing costs more than the call, and a node keeps the text that it was given.
  if (config.reveal() === configuration?.reveal()) return config;
  const found = findId(config);
  if (found !== '' && found !== providerId)
    throw new ProviderError(
      'TALOS_FOREIGN_NODE',
      `${node.address} is ${found.slice(0, maxIdLength)} and not ${providerId}. Power that machine off, or remove it.`,
    );
  return config;
}

/** The ids in texts that nodes had lately, by hash of the text: the same text is read several times during an update. */
const recentIds = new LruMap<string, string>(256);

/** The id in a configuration; empty without one. */
function findId(config: SecretString): string {
  return recentIds.getOrAdd(shortHash(config.reveal()), () => {
    const main = readConfigYaml(config).find(isMainYamlDocument);
    return idPaths.map((path) => textAt(main, path)).find((id) => id !== undefined) ?? '';
  });
}

/** The text of a value, which may look like a number. */
function textAt(document: Document | undefined, path: readonly string[]): string | undefined {
  const found = document?.getIn(path, true);
  return isScalar(found) ? (found.source ?? String(found.value)) : undefined;
}
