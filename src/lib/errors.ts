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
 * Every code that can appear in a log, an event or a condition. Codes are part of our API, sentences are not.
 * The table in `docs/reference` is generated from here.
 */
export const errorCodes = {
  DEADLINE_EXCEEDED: { retry: 'backoff', message: 'The other side did not answer in time.' },
  UNREACHABLE: { retry: 'backoff', message: 'The other side could not be reached.' },
  CONFIG_INVALID: { retry: 'after-change', message: 'The configuration is not valid.' },
  PROVIDER_CONFIG_MISSING: { retry: 'after-change', message: 'The ProviderConfig of the machine does not exist.' },
  CREDENTIALS_MISSING: { retry: 'after-change', message: 'The referenced Secret or one of its keys does not exist.' },
  CREDENTIALS_REFUSED: { retry: 'after-change', message: 'The credentials were refused.' },
  TLS_UNTRUSTED: { retry: 'after-change', message: 'The certificate of the other side is not trusted.' },
  REDIRECT_INSECURE: {
    retry: 'after-change',
    message: 'A redirect from https to http was refused. Name a server that does without, e.g. in talos.factoryUrl.',
  },
  TLS_FINGERPRINT_DIFFERS: {
    retry: 'after-change',
    message: 'The certificate of the other side has another fingerprint than the one that was named.',
  },
  ADDRESS_POOL_EMPTY: { retry: 'after-change', message: 'The address pool has no free address left.' },
  OWNED_BY_OTHERS: { retry: 'after-change', message: 'An object of this name exists and does not carry our mark.' },
  NAME_COLLISION: {
    retry: 'after-change',
    message: 'An object of this name belongs to another Cluster. It is neither taken over nor changed.',
  },
  DISK_KEY_MISSING: {
    retry: 'after-change',
    message: 'The key of encrypted disks is gone. Bring its Secret back from a backup, or delete the Machine.',
  },
  HOST_LOST: {
    retry: 'after-change',
    message: 'The Host that the machine held names it no more. Delete the Machine to have it made anew.',
  },
  HOST_IN_MAINTENANCE: { retry: 'after-change', message: 'The Host of the machine is in maintenance.' },
  TALOS_SECRETS_INVALID: { retry: 'after-change', message: 'The Talos secrets bundle cannot be used.' },
  TALOS_CONFIG_INVALID: { retry: 'after-change', message: 'The machine configuration would not be accepted by Talos.' },
  TALOS_PATCH_INVALID: { retry: 'after-change', message: 'A patch does not fit the machine configuration.' },
  TALOS_UNREACHABLE: { retry: 'backoff', message: 'The Talos API of the node could not be reached.' },
  TALOS_FOREIGN_NODE: {
    retry: 'after-change',
    message: 'The node answers with a certificate that does not belong to this cluster.',
  },
  TALOS_NOT_READY: { retry: 'backoff', message: 'The node is not ready for this yet.' },
  TALOS_ALREADY_BOOTSTRAPPED: { retry: 'after-change', message: 'The node already holds data of an etcd cluster.' },
  TALOS_PERMISSION_DENIED: { retry: 'after-change', message: 'The node does not allow this call.' },
  TALOS_CONFIG_REFUSED: { retry: 'after-change', message: 'The node refused the request as invalid.' },
  TALOS_NOT_FOUND: { retry: 'backoff', message: 'The node does not know this object.' },
  TALOS_UNSUPPORTED: { retry: 'after-change', message: 'The Talos version of the node does not know this call.' },
  TALOS_CALL_FAILED: { retry: 'backoff', message: 'A call to the Talos API of the node failed.' },
  FACTORY_UNREACHABLE: {
    retry: 'backoff',
    message: 'The image factory could not be reached. Check talos.factoryUrl, and that it is up.',
  },
  FACTORY_SCHEMATIC_REFUSED: {
    retry: 'after-change',
    message: 'The image factory refused the schematic. Correct talos.extensions or talos.kernelArguments.',
  },
  FACTORY_SCHEMATIC_DIFFERS: {
    retry: 'after-change',
    message: 'The image factory answers with another schematic than the one asked for.',
  },
  FACTORY_IMAGE_MISSING: {
    retry: 'after-change',
    message: 'The image factory does not have this image. Correct talos.version or talos.extensions.',
  },
  FACTORY_UNAUTHORIZED: {
    retry: 'after-change',
    message: 'The image factory asks for credentials or a licence. Name another in talos.factoryUrl.',
  },
  FACTORY_IMAGE_TOO_LARGE: {
    retry: 'after-change',
    message: 'The image of the image factory is larger than 2 GiB. Ask for fewer extensions in talos.extensions.',
  },
  FACTORY_CHECKSUM_DIFFERS: {
    retry: 'after-change',
    message: 'What came from the image factory has another hash than the factory promises. It is not used.',
  },
  FACTORY_FAILED: { retry: 'backoff', message: 'The image factory could not do what was asked.' },
  ENDPOINT_UNKNOWN: {
    retry: 'backoff',
    message: 'The API server of the cluster is reached at the first control plane, whose address is not known yet.',
  },
  CLUSTER_CHANGED: {
    retry: 'backoff',
    message: 'The Cluster was deleted or replaced while it was looked at. It is looked at again.',
  },
  CLUSTER_SECRETS_MISSING: { retry: 'backoff', message: 'The secrets of the cluster do not exist.' },
  CLUSTER_SECRETS_DIFFER: {
    retry: 'after-change',
    message: 'The Secret holds the secrets of another cluster than the recorded one.',
  },
  CLUSTER_SECRETS_DAMAGED: { retry: 'after-change', message: 'The secrets of the cluster cannot be read.' },
  TRUENAS_UNREACHABLE: {
    retry: 'backoff',
    message: 'The TrueNAS system could not be reached. Check truenas.url, and that the system is up.',
  },
  TRUENAS_TLS_UNTRUSTED: {
    retry: 'after-change',
    message:
      'The certificate of the TrueNAS system is not trusted. Put its CA into truenas.caBundle, or its SHA-256 into truenas.tlsFingerprint.',
  },
  TRUENAS_FINGERPRINT_DIFFERS: {
    retry: 'after-change',
    message:
      'The certificate of the TrueNAS system has another fingerprint than truenas.tlsFingerprint. Compare with the one on the system, and correct the field only when they agree: otherwise somebody stands in between.',
  },
  TRUENAS_OUTCOME_UNKNOWN: {
    retry: 'backoff',
    message: 'The connection to TrueNAS ended before it answered. The next attempt looks at what became of the call.',
  },
  TRUENAS_KEY_REFUSED: {
    retry: 'after-change',
    message: 'TrueNAS refused the API key. Check that it belongs to the user in the Secret of truenas.credentialsRef.',
  },
  TRUENAS_KEY_EXPIRED: {
    retry: 'after-change',
    message:
      'The TrueNAS API key has expired or was revoked. Make a new one and put it into the Secret of truenas.credentialsRef.',
  },
  TRUENAS_OTP_REQUIRED: {
    retry: 'after-change',
    message:
      'TrueNAS asks for a one-time password, which a service cannot give. Use a user without two-factor authentication.',
  },
  TRUENAS_SCRAM_UNSUPPORTED: {
    retry: 'after-change',
    message:
      'This TrueNAS system cannot be logged in to by SCRAM, and the API key is not sent in its place. SCRAM needs TrueNAS 26: update the system, or set truenas.login to Plain.',
  },
  TRUENAS_SERVER_UNPROVEN: {
    retry: 'after-change',
    message:
      'What answers in place of the TrueNAS system did not prove that it knows the API key, too. Find out who stands in between.',
  },
  TRUENAS_LOGIN_DENIED: { retry: 'after-change', message: 'TrueNAS does not let this client in.' },
  TRUENAS_SESSION_ENDED: { retry: 'backoff', message: 'TrueNAS ended the session.' },
  TRUENAS_ROLE_MISSING: { retry: 'after-change', message: 'The user of the TrueNAS API key lacks a role.' },
  TRUENAS_VERSION_UNSUPPORTED: {
    retry: 'after-change',
    message: 'This TrueNAS version is not supported: virtual machines need 25.04.2 or newer.',
  },
  TRUENAS_TOO_MANY_CALLS: { retry: 'backoff', message: 'TrueNAS has too many calls of this connection in hand.' },
  TRUENAS_NOT_FOUND: { retry: 'backoff', message: 'Something vanished from the TrueNAS system while it was in use.' },
  TRUENAS_ALREADY_EXISTS: {
    retry: 'backoff',
    message: 'Something of this name came into being on the TrueNAS system.',
  },
  TRUENAS_BUSY: { retry: 'backoff', message: 'TrueNAS says that it is still busy with this.' },
  TRUENAS_POOL_UNKNOWN: { retry: 'after-change', message: 'The pool does not exist. Correct truenas.pool.' },
  TRUENAS_POOL_FULL: {
    retry: 'after-change',
    message: 'The pool has no room left. Free space or name another in truenas.pool.',
  },
  TRUENAS_DATASET_LOCKED: { retry: 'after-change', message: 'The dataset is encrypted and locked. Unlock it.' },
  TRUENAS_BRIDGE_UNKNOWN: { retry: 'after-change', message: 'The bridge does not exist. Correct truenas.bridge.' },
  TRUENAS_MEMORY_SHORT: {
    retry: 'after-change',
    message: 'The TrueNAS system has not enough free memory. Stop other virtual machines or choose a smaller size.',
  },
  TRUENAS_SYSTEM_UNKNOWN: {
    retry: 'after-change',
    message: 'The ProviderConfig does not name the TrueNAS system of the machine any more.',
  },
  TRUENAS_SIZE_UNKNOWN: { retry: 'after-change', message: 'The size is not one of truenas.sizes.' },
  TRUENAS_VM_BROKEN: { retry: 'after-change', message: 'TrueNAS cannot run this virtual machine.' },
  TRUENAS_VM_TWICE: {
    retry: 'after-change',
    message: 'Two virtual machines have the UUID by which ours is known, so neither is touched.',
  },
  TRUENAS_IMAGE_CHANGED: {
    retry: 'after-change',
    message:
      'A cached boot image is not what was put there, again and again. Find out who changes it; then take the note of its size off its dataset, and it is fetched again; deleting the dataset would stop the machines that use it.',
  },
  TRUENAS_DOWNLOAD_FAILED: { retry: 'backoff', message: 'A file could not be read back from the TrueNAS system.' },
  TRUENAS_UPLOAD_FAILED: { retry: 'backoff', message: 'A file could not be copied to the TrueNAS system.' },
  TRUENAS_REFUSED: { retry: 'after-change', message: 'TrueNAS refused a value.' },
  TRUENAS_CALL_FAILED: { retry: 'backoff', message: 'A call to TrueNAS failed.' },
  TRUENAS_REPLY_UNKNOWN: { retry: 'bug', message: 'TrueNAS answered in a shape that we do not know.' },
  ROBOT_UNREACHABLE: { retry: 'backoff', message: 'Hetzner Robot could not be reached, or did not answer.' },
  ROBOT_UNAVAILABLE: { retry: 'backoff', message: 'Hetzner Robot is out of service for the moment.' },
  ROBOT_TLS_UNTRUSTED: {
    retry: 'after-change',
    message: 'The certificate of Hetzner Robot is not trusted. Check hetznerRobot.caBundle, and who stands in between.',
  },
  ROBOT_OUTCOME_UNKNOWN: {
    retry: 'backoff',
    message: 'The connection to Hetzner Robot ended before it answered. The next attempt looks at what became of it.',
  },
  ROBOT_CREDENTIALS_REFUSED: {
    retry: 'after-change',
    message:
      'Hetzner Robot refused the webservice user or its password. Put the right ones into the Secret: until then this process asks nothing more. Each command that is started logs in anew, and three failed logins within ten minutes lock everybody behind this address out.',
  },
  ROBOT_LOGIN_POSTPONED: {
    retry: 'backoff',
    message: 'Logins at Hetzner Robot failed, and one more could lock this address out: the next is tried later.',
  },
  ROBOT_FORBIDDEN: {
    retry: 'backoff',
    message: 'Hetzner Robot does not talk to this address. Failed logins lock one out for ten minutes.',
  },
  ROBOT_RATE_LIMITED: {
    retry: 'backoff',
    message: 'The account may not call this again for a while, by the limits of Hetzner Robot.',
  },
  ROBOT_BUDGET_SPENT: {
    retry: 'backoff',
    message: 'The calls of this kind that Hetzner Robot allows in an hour are spent.',
  },
  ROBOT_BUSY: { retry: 'backoff', message: 'Other calls to Hetzner Robot come first.' },
  ROBOT_SERVER_NOT_LISTED: {
    retry: 'after-change',
    message: 'Neither a Host object nor the configuration names this, so it is not touched.',
  },
  ROBOT_CALL_FORBIDDEN: { retry: 'bug', message: 'A call that this provider never makes.' },
  ROBOT_SERVER_UNKNOWN: {
    retry: 'after-change',
    message: 'The Hetzner account has no such server. Correct the number in the Host object.',
  },
  ROBOT_NOT_FOUND: { retry: 'backoff', message: 'Hetzner Robot does not have this.' },
  ROBOT_NOT_AVAILABLE: { retry: 'after-change', message: 'Hetzner Robot does not offer this for the server.' },
  ROBOT_RESET_MANUAL_ACTIVE: {
    retry: 'after-change',
    message: 'A technician was asked to reset the server. Until that is done nobody else can.',
  },
  ROBOT_IN_PROCESS: { retry: 'backoff', message: 'Hetzner Robot is still at work on an earlier change.' },
  ROBOT_BOOT_ALREADY_ACTIVE: {
    retry: 'backoff',
    message: 'A boot configuration of the server is active. It has to be switched off before another one can be.',
  },
  ROBOT_CONFLICT: {
    retry: 'after-change',
    message: 'Hetzner Robot refused this, because something stands against it.',
  },
  ROBOT_LIMIT_REACHED: { retry: 'after-change', message: 'Hetzner Robot does not allow more of these.' },
  ROBOT_REFUSED: { retry: 'after-change', message: 'Hetzner Robot refused a value.' },
  ROBOT_CALL_FAILED: { retry: 'backoff', message: 'A call to Hetzner Robot failed.' },
  ROBOT_REPLY_UNKNOWN: { retry: 'bug', message: 'Hetzner Robot answered in a shape that we do not know.' },
  SSH_KEY_INVALID: {
    retry: 'after-change',
    message:
      'The key sshPrivateKey of the Secret in hetznerRobot.credentialsRef cannot be used. It has to be a private key in OpenSSH form without a passphrase.',
  },
  RESCUE_UNREACHABLE: { retry: 'backoff', message: 'The rescue system of the server does not answer.' },
  RESCUE_LOGIN_REFUSED: {
    retry: 'backoff',
    message: 'What answers SSH at the address of the server does not let our key in.',
  },
  RESCUE_HOST_KEY_CHANGED: {
    retry: 'after-change',
    message:
      'What answers SSH at the address of the server is another system than before, though it was not rebooted by us.',
  },
  RESCUE_FOREIGN_SYSTEM: {
    retry: 'backoff',
    message: 'What answers SSH at the address of the server is not its rescue system.',
  },
  RESCUE_COMMAND_FAILED: { retry: 'backoff', message: 'A command in the rescue system failed.' },
  RESCUE_DISK_CHANGED: {
    retry: 'after-change',
    message: 'A disk of the server is not there as it was found before, so nothing is written.',
  },
  RESCUE_DISK_BUSY: {
    retry: 'after-change',
    message: 'A disk is in use within the rescue system, so nothing more is written.',
  },
  RESCUE_DISK_SHARED: {
    retry: 'after-change',
    message:
      'A disk forms an array or a volume group with others that are not to be erased. Name them in rootDisk.raidMembers of the Host, or take them apart.',
  },
  RESCUE_DISK_TOO_SMALL: {
    retry: 'after-change',
    message: 'The image does not fit onto the disk. Choose a larger one in rootDisk of the Host.',
  },
  RESCUE_DISK_UNSUITABLE: {
    retry: 'after-change',
    message:
      'Talos images are made for sectors of 512 bytes. Format the disk to those, or choose another one in rootDisk of the Host.',
  },
  RESCUE_WIPE_INCOMPLETE: { retry: 'backoff', message: 'A disk was erased, and something is found on it still.' },
  RESCUE_IMAGE_UNREACHABLE: {
    retry: 'backoff',
    message: 'The rescue system could not fetch the image. Check that servers reach talos.factoryUrl.',
  },
  RESCUE_IMAGE_TRUNCATED: { retry: 'backoff', message: 'The image ended too early on its way.' },
  RESCUE_IMAGE_WRONG: {
    retry: 'after-change',
    message: 'What was fetched is not the image that it should be. Check hetznerRobot.image and talos.factoryUrl.',
  },
  RESCUE_WRITE_DIFFERS: {
    retry: 'after-change',
    message: 'A disk does not hold what was written to it. Have it replaced.',
  },
  RESCUE_BOOT_ORDER_REFUSED: {
    retry: 'after-change',
    message: 'The firmware of the server does not keep the network first in its boot order.',
  },
  CRD_OWNED_BY_OTHERS: {
    retry: 'after-change',
    message: 'A CustomResourceDefinition of this name exists and is not for platform clusters.',
  },
  CRD_NOT_ESTABLISHED: { retry: 'backoff', message: 'The API server does not serve a CustomResourceDefinition.' },
  POLICY_OWNED_BY_OTHERS: {
    retry: 'after-change',
    message: 'A ValidatingAdmissionPolicy or its binding of this name exists and was not made by this provider.',
  },
  INTERNAL: { retry: 'bug', message: 'Something went wrong inside the provider.' },
} as const satisfies Record<string, ErrorCodeInfo>;

export type ErrorCode = keyof typeof errorCodes;

/**
 * A failure with a code. `detail` completes the code's sentence and is shown to users: it names the field or object and
 * what to do, and never contains a credential. `retryAfterSeconds` is the delay that the remote side requests.
 */
export class ProviderError extends Error {
  readonly code: ErrorCode;
  readonly retryAfterSeconds: number | undefined;

  constructor(code: ErrorCode, detail = '', options: { cause?: unknown; retryAfterSeconds?: number } = {}) {
    super(detail ? `${errorCodes[code].message} ${detail}` : errorCodes[code].message, { cause: options.cause });
    this.name = 'ProviderError';
    this.code = code;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }

  get retry(): RetryPolicy {
    return errorCodes[this.code].retry;
  }

  /** The text that completes the code's sentence. */
  get detail(): string {
    return this.message.slice(errorCodes[this.code].message.length).trim();
  }
}

/** How to treat any thrown value. An error without a code is a bug of the provider. */
export function retryPolicyOf(error: unknown): RetryPolicy {
  return error instanceof ProviderError ? error.retry : 'bug';
}
