import ssh2 from 'ssh2';

/**
 * An ed25519 SSH key pair in OpenSSH format. ssh2 1.17 drops a leading zero byte, so that nobody can read about one in 300 of the
 * keys that it makes.
 */
export function makeSshKey(): { readonly private: string; readonly public: string } {
  for (;;) {
    const pair = ssh2.utils.generateKeyPairSync('ed25519');
    if (!(ssh2.utils.parseKey(pair.private) instanceof Error)) return pair;
  }
}
