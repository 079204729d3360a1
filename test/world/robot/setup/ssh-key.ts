import ssh2 from 'ssh2';

/** A pair of SSH keys of type ed25519, as text of OpenSSH. About one in 300 that the library makes cannot be read by itself. */
export function makeSshKey(): { readonly private: string; readonly public: string } {
  for (;;) {
    const pair = ssh2.utils.generateKeyPairSync('ed25519');
    if (!(ssh2.utils.parseKey(pair.private) instanceof Error)) return pair;
  }
}
