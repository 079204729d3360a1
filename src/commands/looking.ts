import { fieldManager } from '../api/names.ts';
import { AddressLeases } from '../controllers/address-leases.ts';
import { secretsIn } from '../controllers/credentials.ts';
import { OpenConnections } from '../engine/connections.ts';
import type { CheckContext } from '../engine/platform.ts';
import { KubeClient } from '../kube/client.ts';
import { connectionFrom } from '../kube/connection.ts';
import { Secret } from '../kube/core-types.ts';
import { Transport } from '../kube/transport.ts';
import { systemClock } from '../lib/clock.ts';
import { ProviderError } from '../lib/errors.ts';
import type { Secrets } from '../lib/secret.ts';
import { credentialsIn, FileView, readCredentialsAt, readObjects, secretsOf } from './file-view.ts';
import type { ProcessEdges } from './flags.ts';
import type { LookSettings } from './look-flags.ts';

/** What a command gets that looks, and says what it saw. */
export interface LookEdges extends ProcessEdges {
  /** To standard output; the log goes elsewhere. */
  print(text: string): void;
}

/** Where they look who look once and leave. No verb that writes is within reach. */
interface Ground {
  readonly kube: Pick<KubeClient, 'find' | 'list'>;
  leasesOf(provider: string): Pick<AddressLeases, 'holderOf'>;
  /** The keys of a Secret of the provider's own namespace. Throws CREDENTIALS_MISSING. */
  credentials(name: string): Promise<Secrets>;
  close(): Promise<void>;
}

/** What those work with. */
export interface Looking extends Omit<Ground, 'close'>, Pick<CheckContext, 'connections' | 'log' | 'clock' | 'signal'> {
  /** Nothing is known of what there is, only of what somebody wrote into a file. */
  readonly isFile: boolean;
}

/** Time for everything together: somebody sits before it. */
const patienceSeconds = 120;

/** Looks at the platform cluster as whoever the kubeconfig is of, or at files, and closes everything behind itself. */
export async function looking<T>(options: LookSettings & LookEdges, look: (at: Looking) => Promise<T>): Promise<T> {
  const { files, log } = options;
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(patienceSeconds * 1000)]);
  const { close, ...ground } = files ? await groundOfFiles(files) : groundOfCluster(options, signal);
  const connections = new OpenConnections(signal);
  try {
    return await look({ ...ground, isFile: files !== undefined, connections, log, signal, clock: systemClock });
  } finally {
    await Promise.allSettled([connections.close(), close()]);
  }
}

function groundOfCluster(options: LookSettings & LookEdges, signal: AbortSignal): Ground {
  const { kubeconfig: path, podNamespace: namespace, log } = options;
  const connection = connectionFrom({ ...(path && { path }), environment: process.env });
  const kube = new KubeClient(new Transport(connection), { fieldManager, log });
  return {
    kube,
    leasesOf: (provider) => new AddressLeases(kube, namespace, provider),
    credentials: async (name) => {
      const object = await kube.find(Secret, { namespace, name }, signal);
      if (object) return secretsIn(object);
      const message = `There is no Secret ${name} in namespace ${namespace}. Create it.`;
      throw new ProviderError('CREDENTIALS_MISSING', message);
    },
    close: async () => await kube.close(),
  };
}

async function groundOfFiles({ config, credentials }: NonNullable<LookSettings['files']>): Promise<Ground> {
  const kube = new FileView(await readObjects(config, '--config'));
  return {
    kube,
    leasesOf: () => ({ holderOf: async () => undefined }),
    credentials: async (name) => {
      if (credentials !== undefined) return await readCredentialsAt(credentials);
      const told = credentialsIn(process.env);
      if (Object.keys(told).length > 0) return told;
      const object = await kube.find(Secret, { name });
      if (object) return secretsOf(object);
      throw new ProviderError(
        'CREDENTIALS_MISSING',
        `${config} holds no Secret ${name}: name a file by --credentials-file, or set CREDENTIALS_USERNAME and its like.`,
      );
    },
    close: async () => {},
  };
}
