import ssh2, { type AuthContext } from 'ssh2';
import { publicKeyBlob } from './host-key.ts';

/** The accepted credentials: root, with one of these keys or with this password. */
export interface AcceptedLogins {
  readonly password: string | null;
  readonly authorizedKeys: readonly string[];
}

/** Decides one attempt. Only offered methods are accepted. */
export function checkLogin(context: AuthContext, logins: AcceptedLogins): void {
  if (context.username === 'root' && isAccepted(context, logins)) context.accept();
  else context.reject(['publickey', ...(logins.password === null ? [] : (['password'] as const))]);
}

function isAccepted(context: AuthContext, { password, authorizedKeys }: AcceptedLogins): boolean {
  if (context.method === 'password') return password !== null && context.password === password;
  if (context.method !== 'publickey') return false;
  const { key, blob, signature } = context;
  const line = authorizedKeys.find((one) => publicKeyBlob(one)?.equals(key.data));
  if (line === undefined) return false;
  // The first request only asks whether the key would be accepted.
  if (!signature || !blob) return true;
  const parsed = ssh2.utils.parseKey(line);
  if (parsed instanceof Error) return false;
  const [known] = [parsed].flat();
  return known !== undefined && known.verify(blob, signature, context.hashAlgo) === true;
}
