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
    commands: ['run', 'hosts', 'plan', 'check', 'reservations'],
    fallback: 'none in a Pod; elsewhere openmcp-system',
    description:
      'Namespace of the provider: credentials of platforms are read from it, secrets of clusters are kept in it.',
  },
  'CREDENTIALS_*': {
    commands: ['plan', 'check'],
    fallback: 'none',
    description:
      "With --config: the keys of the platform's Secret, each as a variable: CREDENTIALS_USERNAME, CREDENTIALS_API_KEY for apiKey.",
  },
  POD_NAME: { commands: ['run'], fallback: 'the host name', description: 'Who holds the Lease.' },
  ACCESS_REQUEST_SERVICE_ACCOUNT_NAMESPACE: {
    commands: ['run'],
    fallback: 'accessrequests',
    description: 'Namespace in the clusters for the ServiceAccounts that are made for AccessRequests.',
  },
} as const satisfies Record<string, EnvironmentVariable>;
export type EnvironmentVariableName = keyof typeof environmentVariables;

export type ProcessEnvironment = Readonly<Record<string, string | undefined>>;

export const readEnvironmentVariable = (environment: ProcessEnvironment, name: EnvironmentVariableName): string =>
  environment[name] ?? '';
