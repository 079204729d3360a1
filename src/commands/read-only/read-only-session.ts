import { AddressLeases } from '../../controllers/shared/addresses/address-leases.ts';
import { readInstallation } from '../../controllers/shared/installation.ts';
import { decodeSecretData } from '../../controllers/shared/secrets/platform-credentials.ts';
import { ProcessConnectionCache } from '../../engine/connection-cache.ts';
import type { PlatformContext } from '../../engine/contexts.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { Secret } from '../../kube/core-types.ts';
import { systemClock } from '../../lib/clock.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { SecretStrings } from '../../lib/secret-string.ts';
import type { ProcessContext } from '../flags/operator-settings.ts';
import type { ReadOnlySettings } from '../flags/read-only-settings.ts';
import {
  credentialsFromEnvironment,
  credentialsFromSecret,
  FileObjectReader,
  readCredentialsFromPath,
  readObjectFile,
} from './file-object-reader.ts';
import { openKubeClient } from './open-kube-client.ts';

/** The context of a read-only command. */
export interface ReadOnlyCommandContext extends ProcessContext {
  /** Prints to standard output; the log goes elsewhere. */
  print(text: string): void;
}

/** The data source of the read-only commands. It offers no verb that writes. */
interface ReadOnlySource {
  readonly kube: Pick<KubeClient, 'find' | 'list'>;
  leasesOf(provider: string): Pick<AddressLeases, 'holderOf'>;
  /** What the resources of this installation are marked with. Undefined with files. */
  installationId(): Promise<string | undefined>;
  /** The keys of a Secret of the provider's own namespace. Throws CREDENTIALS_MISSING. */
  credentials(name: string): Promise<SecretStrings>;
  close(): Promise<void>;
}

/** The access of a read-only command. */
export interface ReadOnlySession
  extends Omit<ReadOnlySource, 'close'>,
    Pick<PlatformContext, 'connections' | 'log' | 'clock' | 'signal'> {
  /** The objects come from a file, so the state of the platform cluster is unknown. */
  readonly isFile: boolean;
}

/** Timeout of the whole command: a user waits for it. */
const usualTimeoutSeconds = 120;

/** Reads the platform cluster with the user's kubeconfig, or files, and closes all connections at the end. */
export async function withReadOnlySession<T>(
  options: ReadOnlySettings & ReadOnlyCommandContext & { readonly timeoutSeconds?: number },
  read: (at: ReadOnlySession) => Promise<T>,
): Promise<T> {
  const { files, log, timeoutSeconds = usualTimeoutSeconds } = options;
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(timeoutSeconds * 1000)]);
  const { close, ...context } = files ? await openFileSource(files) : openClusterSource(options, signal);
  const connections = new ProcessConnectionCache(signal);
  try {
    return await read({ ...context, isFile: files !== undefined, connections, log, signal, clock: systemClock });
  } finally {
    await Promise.allSettled([connections.close(), close()]);
  }
}

function openClusterSource(options: ReadOnlySettings & ReadOnlyCommandContext, signal: AbortSignal): ReadOnlySource {
  const { kubeconfig: path, podNamespace: namespace, log } = options;
  const kube = openKubeClient({ ...(path && { kubeconfig: path }), log });
  return {
    kube,
    leasesOf: (provider) => new AddressLeases(kube, namespace, provider),
    installationId: async () => (await readInstallation({ kube, namespace }, signal)).id,
    credentials: async (name) => {
      const object = await kube.find(Secret, { namespace, name }, signal);
      if (object) return decodeSecretData(object);
      const message = `There is no Secret ${name} in namespace ${namespace}. Create it.`;
      throw new ProviderError('CREDENTIALS_MISSING', message);
    },
    close: async () => await kube.close(),
  };
}

async function openFileSource({
  config,
  credentials,
}: NonNullable<ReadOnlySettings['files']>): Promise<ReadOnlySource> {
  const kube = new FileObjectReader(await readObjectFile(config, '--config'));
  return {
    kube,
    leasesOf: () => ({ holderOf: async () => undefined }),
    installationId: async () => undefined,
    credentials: async (name) => {
      if (credentials !== undefined) return await readCredentialsFromPath(credentials);
      const fromEnvironment = credentialsFromEnvironment(process.env);
      if (Object.keys(fromEnvironment).length > 0) return fromEnvironment;
      const object = await kube.find(Secret, { name });
      if (object) return credentialsFromSecret(object);
      throw new ProviderError(
        'CREDENTIALS_MISSING',
        `${config} has no Secret ${name}: set --credentials-file, or the environment variables CREDENTIALS_*.`,
      );
    },
    close: async () => {},
  };
}
