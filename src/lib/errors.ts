/**
 * How a failure is treated. `backoff`: retry with growing delays. `after-change`: a user or the spec has to change
 * something; retry on a new generation and every ten minutes. `bug`: a bug of the provider; logged with its stack.
 */
export type RetryPolicy = 'backoff' | 'after-change' | 'bug';

export interface ErrorCodeInfo {
  readonly retry: RetryPolicy;
  /** One sentence for users. The code that throws adds the details. */
  readonly message: string;
}

/**
 * The codes that every part of the provider uses. Each platform has a catalogue of its own besides. All can appear in a
 * log, an event or a condition. Codes are part of our API, sentences are not. The table in `docs/reference` is generated
 * from here.
 */
export const errorCodes = {
  DEADLINE_EXCEEDED: { retry: 'backoff', message: 'The request timed out.' },
  UNREACHABLE: { retry: 'backoff', message: 'The server could not be reached.' },
  CONFIG_INVALID: { retry: 'after-change', message: 'The configuration is not valid.' },
  PROVIDER_CONFIG_MISSING: { retry: 'after-change', message: 'The ProviderConfig of the machine does not exist.' },
  CREDENTIALS_MISSING: { retry: 'after-change', message: 'The referenced Secret or one of its keys does not exist.' },
  CREDENTIALS_REFUSED: { retry: 'after-change', message: 'The credentials were rejected.' },
  TLS_UNTRUSTED: { retry: 'after-change', message: 'The certificate of the server is not trusted.' },
  REDIRECT_INSECURE: {
    retry: 'after-change',
    message:
      'A redirect from https to http was rejected. Use a server without such redirects, e.g. in talos.factoryUrl.',
  },
  TLS_FINGERPRINT_DIFFERS: {
    retry: 'after-change',
    message: 'The certificate of the server does not have the configured fingerprint.',
  },
  ADDRESS_POOL_EMPTY: { retry: 'after-change', message: 'The address pool has no free address left.' },
  OWNED_BY_OTHERS: { retry: 'after-change', message: 'An object of this name exists and does not have our mark.' },
  NAME_COLLISION: {
    retry: 'after-change',
    message: 'An object of this name belongs to another Cluster. It is not changed.',
  },
  DISK_KEY_MISSING: {
    retry: 'after-change',
    message:
      'The key of the encrypted disks no longer exists. Restore its Secret from a backup, or delete the Machine.',
  },
  HOST_LOST: {
    retry: 'after-change',
    message: 'The Host of the machine is no longer claimed by it. Delete the Machine to recreate it.',
  },
  HOST_IN_MAINTENANCE: { retry: 'after-change', message: 'The Host of the machine is in maintenance.' },
  TALOS_SECRETS_INVALID: { retry: 'after-change', message: 'The Talos secrets bundle cannot be used.' },
  TALOS_CONFIG_INVALID: { retry: 'after-change', message: 'Talos would reject the machine configuration.' },
  TALOS_PATCH_INVALID: { retry: 'after-change', message: 'A patch does not fit the machine configuration.' },
  TALOS_UNREACHABLE: { retry: 'backoff', message: 'The Talos API of the node could not be reached.' },
  TALOS_FOREIGN_NODE: {
    retry: 'after-change',
    message: 'The node that answers does not have the configuration of this machine.',
  },
  TALOS_NOT_READY: { retry: 'backoff', message: 'The node is not ready for this yet.' },
  TALOS_ALREADY_BOOTSTRAPPED: { retry: 'after-change', message: 'The node already holds data of an etcd cluster.' },
  TALOS_PERMISSION_DENIED: { retry: 'after-change', message: 'The node does not allow this call.' },
  TALOS_CONFIG_REFUSED: { retry: 'after-change', message: 'The node rejected the request as invalid.' },
  TALOS_NOT_FOUND: { retry: 'backoff', message: 'The object does not exist on the node.' },
  TALOS_UNSUPPORTED: { retry: 'after-change', message: 'The Talos version of the node does not support this call.' },
  TALOS_IMAGE_NOT_PULLED: {
    retry: 'backoff',
    message:
      'The node cannot pull an image. Check talos.version and talos.extensions, and that the node reaches the registry.',
  },
  TALOS_UPGRADE_FAILED: { retry: 'backoff', message: 'The node could not write its new system to the disk.' },
  TALOS_CALL_FAILED: { retry: 'backoff', message: 'A call to the Talos API of the node failed.' },
  FACTORY_UNREACHABLE: {
    retry: 'backoff',
    message: 'The image factory could not be reached. Check talos.factoryUrl, and that it is up.',
  },
  FACTORY_SCHEMATIC_REFUSED: {
    retry: 'after-change',
    message: 'The image factory rejected the schematic. Correct talos.extensions or talos.kernelArguments.',
  },
  FACTORY_SCHEMATIC_DIFFERS: {
    retry: 'after-change',
    message: 'The image factory returned another schematic than the requested one.',
  },
  FACTORY_IMAGE_MISSING: {
    retry: 'after-change',
    message: 'The image factory does not have this image. Correct talos.version or talos.extensions.',
  },
  FACTORY_UNAUTHORIZED: {
    retry: 'after-change',
    message: 'The image factory requires credentials or a licence. Use another one in talos.factoryUrl.',
  },
  FACTORY_IMAGE_TOO_LARGE: {
    retry: 'after-change',
    message: 'The image of the image factory is larger than 2 GiB. Use fewer extensions in talos.extensions.',
  },
  FACTORY_CHECKSUM_DIFFERS: {
    retry: 'after-change',
    message: 'The download from the image factory does not have the announced checksum. It is not used.',
  },
  FACTORY_FAILED: { retry: 'backoff', message: 'A request to the image factory failed.' },
  S3_REFUSED: { retry: 'after-change', message: 'The S3 server for backups rejects a request.' },
  S3_FAILED: { retry: 'backoff', message: 'The S3 server for backups has failed. The provider retries.' },
  BACKUP_MISSING: { retry: 'after-change', message: 'There is no such backup.' },
  BACKUP_DAMAGED: { retry: 'after-change', message: 'The backup cannot be used.' },
  ADOPTION_REJECTED: { retry: 'after-change', message: 'The cluster cannot be adopted. Nothing was changed.' },
  NODES_OF_OTHERS: {
    retry: 'after-change',
    message: 'The nodes of the Cluster are managed by others, and the provider changes nothing of them.',
  },
  IMPORT_REJECTED: { retry: 'after-change', message: 'The cluster cannot be imported. Nothing was changed.' },
  ENDPOINT_UNKNOWN: {
    retry: 'backoff',
    message: 'The endpoint of the cluster is the first control plane, whose address is not known yet.',
  },
  CLUSTER_CHANGED: {
    retry: 'backoff',
    message: 'The Cluster was deleted or replaced during the reconcile, which is repeated.',
  },
  CLUSTER_SECRETS_MISSING: { retry: 'backoff', message: 'The secrets of the cluster do not exist.' },
  CLUSTER_SECRETS_DIFFER: {
    retry: 'after-change',
    message: 'The Secret has the secrets of another cluster than the recorded one.',
  },
  CLUSTER_SECRETS_DAMAGED: { retry: 'after-change', message: 'The secrets of the cluster cannot be read.' },
  CLUSTER_RESTORING: { retry: 'backoff', message: 'Etcd of the cluster is being restored from a backup.' },
  CLUSTER_MISSING: { retry: 'after-change', message: 'The Cluster does not exist, or no Talos provider serves it.' },
  CLUSTER_NOT_READY: { retry: 'backoff', message: 'The Cluster is not ready for this yet.' },
  KUBE_PERMISSION_DENIED: { retry: 'after-change', message: 'The platform cluster does not allow you this request.' },
  OUTPUT_REJECTED: { retry: 'after-change', message: 'The file cannot be written.' },
  CRD_OWNED_BY_OTHERS: {
    retry: 'after-change',
    message: 'A CustomResourceDefinition of this name exists and is not for platform clusters.',
  },
  CRD_NOT_ESTABLISHED: { retry: 'backoff', message: 'The API server does not serve a CustomResourceDefinition.' },
  POLICY_OWNED_BY_OTHERS: {
    retry: 'after-change',
    message: 'A ValidatingAdmissionPolicy or its binding of this name exists and was not created by this provider.',
  },
  INTERNAL: { retry: 'bug', message: 'Internal error of the provider.' },
} as const satisfies Record<string, ErrorCodeInfo>;

export type ErrorCode = keyof typeof errorCodes;

/** An entry of a platform's catalogue. */
interface NamedErrorCode extends ErrorCodeInfo {
  readonly name: string;
}

export interface ProviderErrorOptions {
  readonly cause?: unknown;
  readonly retryAfterSeconds?: number | undefined;
}

interface FailureChange {
  readonly detail?: string;
  readonly retryAfterSeconds?: number | undefined;
}

/**
 * A failure with a code. `detail` completes the code's sentence and is shown to users: it names the field or object and
 * what to do, and never contains a credential. `retryAfterSeconds` is the delay that the remote side requests.
 */
export class ProviderError extends Error {
  readonly code: string;
  readonly retryAfterSeconds: number | undefined;
  readonly #info: ErrorCodeInfo;

  constructor(code: ErrorCode | NamedErrorCode, detail = '', options: ProviderErrorOptions = {}) {
    const info = typeof code === 'string' ? errorCodes[code] : code;
    super(detail ? `${info.message} ${detail}` : info.message, { cause: options.cause });
    this.name = 'ProviderError';
    this.code = typeof code === 'string' ? code : code.name;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.#info = info;
  }

  get retry(): RetryPolicy {
    return this.#info.retry;
  }

  /** The text that completes the code's sentence. */
  get detail(): string {
    return this.message.slice(this.#info.message.length).trim();
  }

  /** The same failure with another detail or delay. */
  with({ detail = this.detail, retryAfterSeconds = this.retryAfterSeconds }: FailureChange): ProviderError {
    return new ProviderError({ ...this.#info, name: this.code }, detail, { cause: this.cause, retryAfterSeconds });
  }
}

/** The error class of a platform: its codes are those of its own catalogue and the shared ones. */
export const definePlatformErrors = <C extends string>(codes: Readonly<Record<C, ErrorCodeInfo>>) =>
  class PlatformError extends ProviderError {
    constructor(code: C | ErrorCode, detail = '', options: ProviderErrorOptions = {}) {
      super(isIn(codes, code) ? { name: code, ...codes[code] } : code, detail, options);
    }
  };

const isIn = <C extends string>(codes: Readonly<Record<C, ErrorCodeInfo>>, code: C | ErrorCode): code is C =>
  Object.hasOwn(codes, code);

/** How to treat any thrown value. An error without a code is a bug of the provider. */
export function retryPolicyOf(error: unknown): RetryPolicy {
  return error instanceof ProviderError ? error.retry : 'bug';
}
