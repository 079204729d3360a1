import type { CommandName } from './options.ts';

/** One environment variable. */
export interface EnvironmentVariable {
  readonly commands: readonly CommandName[];
  readonly fallback: string;
  readonly description: string;
}

/** Every environment variable that is read. The operator sets the POD_ ones. */
export const environmentVariables = {
  POD_NAMESPACE: {
    commands: [
      'run',
      'hosts',
      'plan',
      'check',
      'reservations',
      'talosconfig',
      'kubeconfig',
      'backup',
      'backups',
      'import',
      'adopt',
      'support-bundle',
    ],
    fallback: 'none in a Pod, openmcp-system elsewhere',
    description: 'Namespace of the provider, with the credentials of platforms and the secrets of clusters.',
  },
  'CREDENTIALS_*': {
    commands: ['plan', 'check', 'backups'],
    fallback: 'none',
    description:
      'With --config: one variable for each key of the Secret of the platform, or for backups of the bucket, e.g. CREDENTIALS_USERNAME, and CREDENTIALS_API_KEY for apiKey.',
  },
  POD_NAME: { commands: ['run'], fallback: 'the host name', description: 'Identity of the holder of the Lease.' },
  ACCESS_REQUEST_SERVICE_ACCOUNT_NAMESPACE: {
    commands: ['run'],
    fallback: 'accessrequests',
    description: 'Namespace of the ServiceAccounts of AccessRequests in the clusters.',
  },
} as const satisfies Record<string, EnvironmentVariable>;
export type EnvironmentVariableName = keyof typeof environmentVariables;

export type ProcessEnvironment = Readonly<Record<string, string | undefined>>;

export const readEnvironmentVariable = (environment: ProcessEnvironment, name: EnvironmentVariableName): string =>
  environment[name] ?? '';
