import { legacyClaims, type TokenKey } from '../auth/token-key.ts';
import { asObject } from '../json.ts';
import { deleteStored } from '../storage/delete-object.ts';
import type { ApiObject, ObjectStorage } from '../storage/store.ts';
import { runKeyedLoop } from './loop.ts';

const tokenType = 'kubernetes.io/service-account-token';
const nameAnnotation = 'kubernetes.io/service-account.name';
const uidAnnotation = 'kubernetes.io/service-account.uid';

/** Fills Secrets that request the lasting token of a ServiceAccount, and deletes them with the account. */
export function runTokenSecretController(storage: ObjectStorage, rootCa: string, key: TokenKey): () => void {
  const isAsking = (object: ApiObject): boolean => object['type'] === tokenType;
  const keyOf = ({ metadata }: ApiObject): string => `${metadata.namespace ?? ''}/${metadata.name}`;
  return runKeyedLoop(
    storage,
    ({ storage: table, type, object }) => {
      if (table === 'secrets') return type !== 'DELETED' && isAsking(object) ? [keyOf(object)] : [];
      if (table !== 'serviceaccounts' || type !== 'DELETED') return [];
      return storage.all('secrets', object.metadata.namespace).filter(isAsking).map(keyOf);
    },
    (where) => {
      const [namespace = '', name = ''] = where.split('/');
      const secret = storage.read('secrets', namespace, name);
      if (secret && isAsking(secret)) fillTokenSecret(storage, secret, { rootCa, key });
    },
    storage.all('secrets').filter(isAsking).map(keyOf),
  );
}

function fillTokenSecret(
  storage: ObjectStorage,
  secret: ApiObject,
  { rootCa, key }: { rootCa: string; key: TokenKey },
): void {
  const { annotations = {}, namespace = '', deletionTimestamp } = secret.metadata;
  if (deletionTimestamp) return;
  const account = storage.read('serviceaccounts', namespace, annotations[nameAnnotation] ?? '');
  const { uid = '' } = account?.metadata ?? {};
  if (!account || (annotations[uidAnnotation] ?? uid) !== uid) {
    deleteStored(storage, 'secrets', secret, { dryRun: false });
    return;
  }
  const data = asObject(secret['data']);
  if (data['token'] && data['ca.crt'] && data['namespace'] && annotations[uidAnnotation]) return;
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const token = key.sign(legacyClaims(namespace, secret.metadata.name, { name: account.metadata.name, uid }));
  storage.write('secrets', {
    ...secret,
    metadata: { ...secret.metadata, annotations: { ...annotations, [uidAnnotation]: uid } },
    data: { 'ca.crt': base64(rootCa), namespace: base64(namespace), token: base64(token), ...data },
  });
}
