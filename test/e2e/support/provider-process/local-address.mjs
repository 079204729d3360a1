// Preload of a program with an address of its own, like a pod: servers see LOCAL_ADDRESS as the source of its
// connections.
import { Socket } from 'node:net';
import process from 'node:process';

const localAddress = process.env.LOCAL_ADDRESS;
const { connect } = Socket.prototype;

Socket.prototype.connect = function (...words) {
  // `net.connect` passes normalized arguments: the options and the callback.
  const [first, ...others] = Array.isArray(words[0]) ? words[0] : words;
  if (first?.port === undefined) return Reflect.apply(connect, this, words);
  const listeners = others.filter((word) => typeof word === 'function');
  return Reflect.apply(connect, this, [{ ...first, localAddress }, ...listeners]);
};
